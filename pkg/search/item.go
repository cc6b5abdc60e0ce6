package search

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// maxName is the maximum length of a name. Not every kind follows the rules of DNS.
const maxName = 253

// kindFormat matches a kind: an identifier of Go.
var kindFormat = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// item is a flat map before validation. Its values are strings, except for a few lists.
type item map[string]json.RawMessage

func newItem(raw json.RawMessage) (item, bool) {
	var i item
	err := json.Unmarshal(raw, &i)
	return i, err == nil && i != nil
}

// text returns a string; empty for none.
func (i item) text(name string) string { return text(i[name]) }

// text returns the string of a JSON value; empty for a different type. The fast path is for strings without escapes,
// because an answer has tens of thousands of such strings.
func text(raw json.RawMessage) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && !bytes.ContainsRune(raw, '\\') && utf8.Valid(raw) {
		return string(raw[1 : n-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// first returns the first string under several names.
func (i item) first(names ...string) string {
	for _, n := range names {
		if s := i.text(n); s != "" {
			return s
		}
	}
	return ""
}

// texts returns the strings of a list, up to limit entries.
func (i item) texts(name string, limit int) []string {
	var out []string
	entries(i[name], limit, func(raw json.RawMessage) { out = append(out, text(raw)) })
	return out
}

// entries passes up to limit entries of a JSON list to take, and returns whether the list has no further entries.
// Further entries are not decoded. Therefore a list of millions costs no more than the bytes of the list.
func entries(list json.RawMessage, limit int, take func(json.RawMessage)) bool {
	decoder := json.NewDecoder(bytes.NewReader(list))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return false
	}
	for range limit {
		if !decoder.More() {
			break
		}
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return false
		}
		take(raw)
	}
	end, err := decoder.Token()
	return err == nil && end == json.Delim(']')
}

// id identifies a resource.
type id struct {
	group, version, kind, namespace, name string
}

// id returns the resource of an item, and whether such a resource can exist. The entries of _missingResources have two
// spellings: the spelling of search, and the spelling of Argo CD's status.
func (i item) id() (id, bool) {
	r := id{
		group: i.first("apigroup", "group"), version: i.first("apiversion", "version"),
		kind: i.text("kind"), namespace: i.text("namespace"), name: i.text("name"),
	}
	if g, v, both := strings.Cut(r.version, "/"); both {
		r.group, r.version = g, v
	}
	good := kindFormat.MatchString(r.kind) && validName(r.name) &&
		(r.group == "" || len(validation.IsDNS1123Subdomain(r.group)) == 0) &&
		(r.version == "" || len(validation.IsDNS1035Label(r.version)) == 0) &&
		(r.namespace == "" || len(validation.IsDNS1123Label(r.namespace)) == 0)
	return r, good
}

// missing returns the state of a required resource that search does not have. If search does not collect the kind, the
// cluster's Argo CD may still know the resource. Then the state has Argo CD's health, and no sync status.
func (i item) missing() argocd.ResourceStatus {
	health, _ := newItem(i["health"])
	if s := health.text("status"); s != "Missing" && slices.Contains(argocd.HealthCodes, s) {
		return argocd.ResourceStatus{Health: &argocd.Health{Status: s}}
	}
	return argocd.ResourceStatus{Status: "OutOfSync", Health: &argocd.Health{Status: "Missing"}}
}

// with returns the resource with the given state.
func (r id) with(s argocd.ResourceStatus) argocd.ResourceStatus {
	s.Group, s.Version, s.Kind, s.Namespace, s.Name = r.group, r.version, r.kind, r.namespace, r.name
	return s
}

// validName returns whether a resource can have the name. For example, RBAC's names may have colons and capitals.
func validName(name string) bool {
	return name != "" && len(name) <= maxName &&
		len(content.IsPathSegmentName(name)) == 0 &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError })
}

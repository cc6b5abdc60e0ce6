package search

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// maxName bounds a name, which not every kind holds to the rules of DNS.
const maxName = 253

// kindFormat is what a kind looks like: an identifier of Go.
var kindFormat = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// item is a flat map, not yet believed: its values are strings, but for a few lists.
type item map[string]json.RawMessage

func newItem(raw json.RawMessage) (item, bool) {
	var i item
	err := json.Unmarshal(raw, &i)
	return i, err == nil && i != nil
}

// text is a string; empty when there is none.
func (i item) text(name string) string { return text(i[name]) }

// text is the string that a JSON value is; empty when it is none. Nearly all are as plain as they look, and there
// are tens of thousands of them in an answer.
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

// first is the first of several names under which a string is there.
func (i item) first(names ...string) string {
	for _, n := range names {
		if s := i.text(n); s != "" {
			return s
		}
	}
	return ""
}

// texts are the strings of a list, up to a number of entries.
func (i item) texts(name string, limit int) []string {
	var out []string
	entries(i[name], limit, func(raw json.RawMessage) { out = append(out, text(raw)) })
	return out
}

// entries takes so many entries of a JSON list one by one, and tells whether those were all. What comes after them is
// not decoded: a list of millions costs no more than its bytes.
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

// id says which resource one is.
type id struct {
	group, version, kind, namespace, name string
}

// id is the resource that an item names, and whether it is one that can be. The entries of _missingResources have
// been spelled in two ways: as in the rest of search, and as in Argo CD's status.
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

// missing is the state of a resource that should exist and that search does not have. The cluster's Argo CD may
// know of it nevertheless, where search is told not to collect its kind: then its health is what Argo CD says, and
// nobody says that it is out of sync.
func (i item) missing() argocd.ResourceStatus {
	health, _ := newItem(i["health"])
	if s := health.text("status"); s != "Missing" && slices.Contains(argocd.HealthCodes, s) {
		return argocd.ResourceStatus{Health: &argocd.Health{Status: s}}
	}
	return argocd.ResourceStatus{Status: "OutOfSync", Health: &argocd.Health{Status: "Missing"}}
}

// with is the resource in that state.
func (r id) with(s argocd.ResourceStatus) argocd.ResourceStatus {
	s.Group, s.Version, s.Kind, s.Namespace, s.Name = r.group, r.version, r.kind, r.namespace, r.name
	return s
}

// validName tells whether a resource can have the name: RBAC's, for example, have colons and capitals.
func validName(name string) bool {
	return name != "" && len(name) <= maxName &&
		len(path.IsValidPathSegmentName(name)) == 0 &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError })
}

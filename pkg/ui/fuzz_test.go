package ui

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Patterns for the allowed content of a page: tags and attributes with lower-case names, and values in double quotes.
var (
	tag        = regexp.MustCompile(`<[^>]*>?`)
	wellFormed = regexp.MustCompile(`^<(?:!doctype html|/[a-z0-9]+|[a-z0-9]+(?: [a-z-]+(?:="[^"<>]*")?)*)>$`)
	attribute  = regexp.MustCompile(` ([a-z-]+)(?:="([^"]*)")?`)
	braces     = regexp.MustCompile(`{{.*?}}`)
	inside     = regexp.MustCompile(`^(?:/(?:[^/\\]|$)|#|\?|$)`)
)

// fuzzed are the pages of FuzzPages, one for each input.
var fuzzed = []string{"/", "/sets/argocd/guestbook", "/applications/argocd/c1-guestbook", "/clusters", "/clusters/c1", "/attention"}

// FuzzPages checks pages with hostile text from clusters, tenants and addresses. A page has only the tags of its
// templates, no link to a different host, and no invisible characters.
func FuzzPages(f *testing.F) {
	own := own(f)
	for page := range fuzzed {
		firsts(f, uint8(page))
	}
	f.Fuzz(func(t *testing.T, page uint8, state, name, text, query string) {
		a := app("argocd", "guestbook", "c1", state)
		a.Status.Health.Message, a.Status.Sync.Revision = text, text
		a.Status.Conditions = []argocd.Condition{{Type: state, Message: text}, {Type: apis.ConditionWorkApplyError, Message: text}}
		a.Status.Resources = []argocd.ResourceStatus{{Kind: name, Name: text, Status: state, Health: &argocd.Health{Status: state, Message: text}}}
		a.Status.OperationState = &argocd.OperationState{Phase: state, Message: text}
		a.Status.History = []argocd.Deployment{{Revision: text}}
		others := app("argocd", name, name, state)
		h := Handler(&fake{apps: []*argocd.Application{a, others}, managed: []clusterv1.ManagedCluster{managed("c1", text), managed(name, state)},
			unread: []string{text}, orphans: []Orphan{{Cluster: name, Work: state, Application: text, Since: text}}})
		address := fuzzed[int(page)%len(fuzzed)] + "?" + escapedQuery(query)
		answer := open(t, h, http.MethodGet, address)
		if answer.Code >= http.StatusInternalServerError {
			t.Errorf("%s: %d", address, answer.Code)
		}
		body := answer.Body.String()
		for _, bad := range wrong(body, own) {
			t.Errorf("%s: %q", address, bad)
		}
		if len(body) > 100_000+8*len(name) {
			t.Errorf("%s has %d bytes", address, len(body))
		}
	})
}

// firsts adds the first inputs of a page.
func firsts(f *testing.F, page uint8) {
	f.Helper()
	f.Add(page, "Degraded", "c1", `</td><script>alert(1)</script>"'`, "group=region")
	f.Add(page, "\u202e\x1b[31m", "//evil.example", "javascript:alert(1)", "set=%3Cscript%3E&namespace=%22%3E")
	f.Add(page, "", "", "", "namespace=%0d&set=%0d&group=%0d&cluster=%0d")
	f.Add(page, "", "../..", "a\x00\xff<!--", "problems=1&cluster=%00")
	f.Add(page, "Healthy", "c1", "", "set=%01a&cluster=%E2%80%AEb&namespace=%01")
}

// escapedQuery returns a query with only the characters allowed in a request line.
func escapedQuery(query string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '+'
		}
		return r
	}, query)
}

// own returns the tags and attributes of all templates, by name.
func own(t *testing.F) map[string]bool {
	t.Helper()
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	out := map[string]bool{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range tag.FindAllString(braces.ReplaceAllString(string(text), ""), -1) {
			out[nameOf(found)] = true
			for _, m := range attribute.FindAllStringSubmatch(found, -1) {
				out[" "+m[1]] = true
			}
		}
	}
	return out
}

// nameOf returns the name of a tag.
func nameOf(tag string) string {
	name, _, _ := strings.Cut(strings.Trim(tag, "</>"), " ")
	return name
}

// wrong returns all forbidden content of a page.
func wrong(body string, own map[string]bool) []string {
	var out []string
	seen := map[string]bool{} // most tags occur many times
	for _, found := range tag.FindAllString(body, -1) {
		if !seen[found] && strange(found, own) {
			out = append(out, found)
		}
		seen[found] = true
	}
	if strings.Count(body, "<script") > 1 {
		out = append(out, "two scripts")
	}
	if i := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
		out = append(out, "what cannot be seen: "+body[i:min(len(body), i+20)])
	}
	return out
}

// strange returns whether a tag comes from no template, or links to a different host.
func strange(found string, own map[string]bool) bool {
	if !wellFormed.MatchString(found) || !own[nameOf(found)] {
		return true
	}
	for _, m := range attribute.FindAllStringSubmatch(found, -1) {
		link := m[1] == "href" || m[1] == "src" || m[1] == "action"
		if !own[" "+m[1]] || link && !inside.MatchString(m[2]) {
			return true
		}
	}
	return false
}

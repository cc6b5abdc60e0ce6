package authorization_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// refused returns the message about a forbidden repository.
func refused(repo string) string {
	r := authorization.Request{Sources: []string{repo}}
	return authorization.Project(&argocd.AppProject{}, "argocd", "argocd", r, authorization.Cluster{Name: "c"}).Message
}

// TestRefusalHidesCredentials checks that a refusal names the repository, without any user, password or token.
func TestRefusalHidesCredentials(t *testing.T) {
	for repo, want := range map[string]string{
		"https://git.example.com/a.git":                `"https://git.example.com/a.git"`,
		"git.example.com/charts":                       `"git.example.com/charts"`,
		"oci://registry.example.com/a":                 `"oci://registry.example.com/a"`,
		"https://u:SECRET@git.example.com/a":           `"https://git.example.com/a"`,
		"https://u:a@SECRET@git.example.com/a":         `"https://git.example.com/a"`,
		"https://SECRET@git.example.com/a":             `"https://git.example.com/a"`,
		"HTTPS://u:SECRET@git.example.com/a":           `"HTTPS://git.example.com/a"`,
		"https://u:a/SECRET@git.example.com/a":         `"https://…@git.example.com/a"`,
		"https://u:12/SECRET@git.example.com/a":        `"https://…@git.example.com/a"`,
		"https://u:SECRET:SECRET@git.example.com/a":    `"https://git.example.com/a"`,
		"https://u:a://SECRET@git.example.com/a":       `"https://…@git.example.com/a"`,
		"https://u:SECRET?SECRET@git.example.com/a":    `"https://…"`,
		"https://u:SECRET#SECRET@git.example.com/a":    `"https://…"`,
		"https://git.example.com/a?token=SECRET":       `"https://git.example.com/a?…"`,
		"https://git.example.com/a?token=a@SECRET":     `"https://…"`,
		"https://git.example.com/a#SECRET":             `"https://git.example.com/a?…"`,
		"https://u:SECRET@git.example.com/a?b":         `"https://git.example.com/a?…"`,
		"https://u:%zzSECRET@git.example.com/a":        `"https://git.example.com/a"`,
		"https://u:SECRET/git.example.com/a":           `"https://…"`,
		"https://u:SE\x7fCRET/a":                       `"https://…"`,
		"https":                                        `"https"`,
		"https://?SECRET":                              `"https://?…"`,
		"https://?SECRET@git.example.com":              `"https://…"`,
		"https://@%zz":                                 `"https://%zz"`,
		"a%zz":                                         `"a%zz"`,
		strings.Repeat("a", 200):                       `"` + strings.Repeat("a", 200) + `"`,
		"git@git.example.com:a/b.git":                  `"git.example.com:a/b.git"`,
		"u:SECRET@git.example.com:a/b.git":             `"git.example.com:a/b.git"`,
		"u:a@SECRET@git.example.com:a/b.git":           `"git.example.com:a/b.git"`,
		"SECRET://SECRET@git.example.com/a":            `"…@git.example.com/a"`,
		"u:SECRET://x@git.example.com:a":               `"…@git.example.com:a"`,
		"ssh://u:SECRET@git.example.com:22/a":          `"ssh://git.example.com:22/a"`,
		"https://git.example.com/a@v1":                 `"https://…@v1"`,
		"https://u:SECRET@" + strings.Repeat("a", 300): `"https://` + strings.Repeat("a", 192) + `…"`,
	} {
		message := refused(repo)
		if !strings.Contains(message, "the repository "+want) {
			t.Errorf("%s: want %s in %s", repo, want, message)
		}
		if strings.Contains(message, "SECRET") {
			t.Errorf("%s: the message has the secret: %s", repo, message)
		}
	}
}

// FuzzRefusalHidesCredentials checks that no user information and no query reaches the message, in any spelling.
func FuzzRefusalHidesCredentials(f *testing.F) {
	const secret, host = "SECRET", "git.example.com"
	f.Add("https://", "u", "p@ss", "/a.git", "token=x")
	f.Add("ssh://", "git", "a/b", ":a/b.git", "")
	f.Add("", "u", "p?x#y", ":a", "x@y")
	f.Add("u:", "x", "a://b", "/a@b", "")
	f.Add("https://", "u", "%40", "/a", "a=b&c=@")
	f.Fuzz(func(t *testing.T, scheme, user, password, path, query string) {
		for _, part := range []string{scheme, user, password, path, query} {
			if strings.Contains(part, secret) {
				t.Skip()
			}
		}
		for _, repo := range []string{
			scheme + user + secret + ":" + secret + password + secret + "@" + host + path,
			scheme + user + ":" + password + secret + "@" + host,
			scheme + secret + password + "@" + host + path,
			"https://" + user + ":" + secret + password + "@" + host + "?" + query,
			"https://" + host + "/a?" + query + secret + query,
			"https://" + host + "/a?" + query + "@" + secret,
			"https://" + user + ":" + secret + "@" + host + "?" + query + secret,
		} {
			if message := refused(repo); strings.Contains(message, secret) {
				t.Errorf("%q: %s", repo, message)
			}
		}
	})
}

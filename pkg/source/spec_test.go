package source

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const agent = "https://towline-source.agents.svc"

func TestThrough(t *testing.T) {
	a, b := "https://git.example.com/a.git", "git@git.example.com:b.git"
	for name, test := range map[string]struct{ spec, want, fails string }{
		"a source": {spec: `{"source":{"repoURL":"` + a + `","path":"x"}}`, want: `{"source":{"repoURL":"` + At(agent, project, a) + `","path":"x"}}`},
		"unknown fields": {
			spec: `{"source":{"repoURL":"` + a + `","new":{"a":[1.0]}}}`,
			want: `{"source":{"repoURL":"` + At(agent, project, a) + `","new":{"a":[1.0]}}}`,
		},
		"sources": {
			spec: `{"sources":[{"repoURL":"` + a + `"},{"repoURL":"` + b + `","ref":"v"}]}`,
			want: `{"sources":[{"repoURL":"` + At(agent, project, a) + `"},{"repoURL":"` + At(agent, project, b) + `","ref":"v"}]}`,
		},
		"both": {
			spec: `{"source":{"repoURL":"` + a + `"},"sources":[{"repoURL":"` + b + `"}]}`,
			want: `{"source":{"repoURL":"` + At(agent, project, a) + `"},"sources":[{"repoURL":"` + At(agent, project, b) + `"}]}`,
		},
		"no address":      {spec: `{"source":{"path":"x"}}`, want: `{"source":{"path":"x"}}`},
		"no source":       {spec: `{"project":"p"}`, want: `{"project":"p"}`},
		"null":            {spec: `{"source":null,"sources":null}`, want: `{"source":null,"sources":null}`},
		"a wrong address": {spec: `{"source":{"repoURL":7}}`, fails: "source: repoURL"},
		"a wrong list":    {spec: `{"sources":{}}`, fails: "sources"},
		"a wrong entry":   {spec: `{"sources":[{"repoURL":"` + a + `"},"x"]}`, fails: "sources[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(test.spec), &fields); err != nil {
				t.Fatal(err)
			}
			err := Through(agent, project, fields)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("the error is %v, without %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(fields)
			if diff := cmp.Diff(decoded(t, test.want), decoded(t, string(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnsupported(t *testing.T) {
	for name, test := range map[string]struct{ spec, says string }{
		"Git":             {`{"source":{"repoURL":"https://git.example.com/a","path":"."}}`, ""},
		"SSH":             {`{"source":{"repoURL":"git@git.example.com:a","path":"."}}`, ""},
		"a user name":     {`{"source":{"repoURL":"https://user@git.example.com/a"}}`, ""},
		"a password":      {`{"source":{"repoURL":"https://user:pass@git.example.com/a"}}`, "has a password"},
		"a Helm chart":    {`{"source":{"repoURL":"https://charts.example.com","chart":"redis"}}`, `chart "redis"`},
		"a second source": {`{"sources":[{"repoURL":"https://git.example.com/a"},{"repoURL":"oci://r.example.com/x"}]}`, "OCI registry"},
		"a hydrator":      {`{"sourceHydrator":{"drySource":{"repoURL":"https://git.example.com/a"}}}`, "sourceHydrator"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Unsupported([]byte(test.spec))
			if (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("Unsupported says %q, without %q", got, test.says)
			}
		})
	}
}

func TestReference(t *testing.T) {
	for revision, want := range map[string]string{
		"refs/pull/7/head": "refs/pull/7/head", "refs/merge-requests/3/head": "refs/merge-requests/3/head",
		"pull/7/head": "refs/pull/7/head", "merge-requests/3/head": "refs/merge-requests/3/head", "pull/x": "", "pull/7/../x": "",
		"main": "", "HEAD": "", "": "", "refs/heads/main": "", "refs/tags/v1": "", "refs/../x": "", "refs/-x": "", "refs/a b": "", "--upload-pack=x": "",
	} {
		if got := Reference(revision); got != want {
			t.Errorf("the reference of %q is %q, not %q", revision, got, want)
		}
	}
}

func TestIsCommit(t *testing.T) {
	for revision, want := range map[string]bool{
		strings.Repeat("0123456789", 4): true, strings.Repeat("0123456789", 3): false, strings.Repeat("main-", 8): false,
		strings.Repeat("0123456789", 4) + "0": false, "--upload-pack=" + strings.Repeat("a", 26): false,
	} {
		if got := IsCommit(revision); got != want {
			t.Errorf("%q is a commit: %v", revision, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	spec := `{"source":{"repoURL":"a"},"sources":[{"repoURL":"b"},{"repoURL":"a"},{"ref":"x"}]}`
	if diff := cmp.Diff([]string{"b", "a"}, Addresses([]byte(spec))); diff != "" {
		t.Error(diff)
	}
}

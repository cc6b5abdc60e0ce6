package dependency_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// repository returns a repository Secret of Argo CD, for one repository, or with repo-creds for all under an address.
func repository(name, kind, url, project string) corev1.Secret {
	s := corev1.Secret{Data: map[string][]byte{"url": []byte(url), "password": []byte("hunter2")}}
	s.Name, s.Labels = name, map[string]string{apis.LabelSecretType: kind}
	if project != "" {
		s.Data["project"] = []byte(project)
	}
	return s
}

func TestCredentialsFor(t *testing.T) {
	known := dependency.ReadCredentials([]corev1.Secret{
		repository("all", "repo-creds", "https://git.example.com", ""),
		repository("team", "repo-creds", "https://git.example.com/team", ""),
		repository("team-of-p", "repo-creds", "https://git.example.com/team", "p"),
		repository("one", "repository", "https://git.example.com/team/one.git", ""),
		repository("one-again", "repository", "https://git.example.com/team/one", ""),
		repository("one-of-p", "repository", "https://git.example.com/team/One", "p"),
		repository("of-q-only", "repository", "https://git.example.com/q", "q"),
		repository("ssh", "repository", "git@ssh.example.com:team/one.git", ""),
		repository("everybody", "repo-creds", "https://", ""),
		repository("nobody", "repository", "", ""),
		repository("a-cluster", "cluster", "https://git.example.com/team/one.git", ""),
	})
	for title, tc := range map[string]struct {
		project, repo string
		want          []string
	}{
		"one repository, and its prefix":     {"default", "https://git.example.com/team/one", []string{"one", "team"}},
		"as the project has it":              {"p", "https://GIT.example.com/team/ONE.git", []string{"one-of-p", "team-of-p"}},
		"the longest prefix":                 {"default", "https://git.example.com/teams/x", []string{"team"}},
		"the whole host":                     {"default", "https://git.example.com/other", []string{"all"}},
		"a scope of another project":         {"p", "https://git.example.com/q", []string{"all"}},
		"by SSH, in another spelling":        {"default", "ssh://git@ssh.example.com/team/one", []string{"ssh"}},
		"a host that begins with the prefix": {"default", "https://git.example.com.evil.example/team", nil},
		"nothing known":                      {"default", "https://other.example.com/x", nil},
	} {
		if diff := cmp.Diff(tc.want, known.For(tc.project, authorization.NormalizeURL(tc.repo))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

func TestNeeds(t *testing.T) {
	known := dependency.ReadCredentials([]corev1.Secret{repository("one", "repository", "https://git.example.com/0", "")})
	multi := dependency.ReadSpec(fixture.Application("a").Sources(2).Obj())
	other := dependency.ReadSpec(fixture.Application("a").Obj())
	broken := dependency.ReadSpec(fixture.Application("a").Spec(`[]`).Obj())
	unreadable := dependency.ReadSpec(fixture.Application("a").Sources(2).Operation(`[]`).Obj())
	if !known.Needs(unreadable, "one") {
		t.Errorf("an operation that cannot be read hides what the spec says: %+v", unreadable)
	}
	if !known.Needs(multi, "one") || known.Needs(other, "one") || known.Needs(broken, "one") {
		t.Errorf("%+v, %+v, %+v", multi, other, broken)
	}
}

// copies returns a table of hub Secrets and the hosts of their copies on a cluster.
func copies(t *testing.T) (table []struct {
	Type, URL, Sent string
	Given, Denied   []string
},
) {
	t.Helper()
	data, err := os.ReadFile("testdata/credentials.yaml")
	if err != nil || yaml.UnmarshalStrict(data, &table) != nil || len(table) == 0 {
		t.Fatal(err, "the table cannot be read")
	}
	return table
}

// TestCopies checks that Argo CD shows a copied credential only to the hosts of the hub's Secret. The tests in
// e2e/programs check Argo CD itself.
func TestCopies(t *testing.T) {
	for _, tc := range copies(t) {
		s := repository("s", tc.Type, tc.URL, "")
		known := dependency.ReadCredentials([]corev1.Secret{s})
		if len(known) == 0 != (tc.Sent == "") {
			t.Errorf("%s %q is sent: %v", tc.Type, tc.URL, known)
		}
		if len(known) == 0 {
			continue
		}
		if got := sent(t, &s); got != tc.Sent {
			t.Errorf("%s %q is sent as %q, not %q", tc.Type, tc.URL, got, tc.Sent)
		}
		for _, repo := range append(tc.Given, tc.Denied...) {
			if got := len(known.For("default", authorization.NormalizeURL(repo))) > 0; got != slices.Contains(tc.Given, repo) {
				t.Errorf("%s %q is for %q: %t", tc.Type, tc.URL, repo, got)
			}
		}
	}
}

// sent returns the address in a Secret's copy.
func sent(t *testing.T, s *corev1.Secret) string {
	t.Helper()
	w, err := dependency.RenderCredential(s, "c1", "argocd")
	if err != nil {
		t.Fatal(err)
	}
	var copied corev1.Secret
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &copied); err != nil {
		t.Fatal(err)
	}
	return string(copied.Data["url"])
}

func FuzzCredentialsStayOnTheirHost(f *testing.F) {
	f.Add("https://git.example.com/a", "https://git.example.com.evil/a")
	f.Add("git@example.com:a", "ssh://git@example.com/a/b")
	f.Add("https://", "https://x")
	f.Add("https:", "https://x")
	f.Add("https:/", "https://x")
	f.Add("git@example.com", "git@example.com/a://git@e/b")
	f.Add("https://git.example.com.git", "https://git.example.com@evil/a")
	f.Add("https://git.example.com#", "https://git.example.com.evil")
	f.Fuzz(func(t *testing.T, credential, repo string) {
		repo = authorization.NormalizeURL(repo)
		for _, kind := range []string{"repository", "repo-creds"} {
			s := repository("s", kind, credential, "")
			scope, ok := dependency.ReadScope(&s)
			if ok && len(dependency.Credentials{scope}.For("default", repo)) > 0 && dependency.Host(repo) != dependency.Host(scope.URL) {
				t.Errorf("%q travels for %q", credential, repo)
			}
			if ok && authorization.NormalizeURL(sent(t, &s)) != scope.URL {
				t.Errorf("%q is sent as %q, and its scope is %q", credential, sent(t, &s), scope.URL)
			}
		}
	})
}

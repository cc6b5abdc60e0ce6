package dependency_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// repository is a Secret of Argo CD's for one repository, or, with repo-creds, for all under an address.
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

func FuzzCredentialsStayOnTheirHost(f *testing.F) {
	f.Add("https://git.example.com/a", "https://git.example.com.evil/a")
	f.Add("git@example.com:a", "ssh://git@example.com/a/b")
	f.Add("https://", "https://x")
	f.Fuzz(func(t *testing.T, credential, repo string) {
		repo = authorization.NormalizeURL(repo)
		for _, kind := range []string{"repository", "repo-creds"} {
			s := repository("s", kind, credential, "")
			scope, ok := dependency.ReadScope(&s)
			if ok && len(dependency.Credentials{scope}.For("default", repo)) > 0 && dependency.Host(repo) != dependency.Host(scope.URL) {
				t.Errorf("%q travels for %q", credential, repo)
			}
		}
	})
}

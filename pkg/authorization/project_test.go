package authorization_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// table has the cases of testdata/projects.yaml. A test with Argo CD's own functions uses the same table.
type table struct {
	Sources []struct {
		Patterns  []string `json:"patterns"`
		Repo      string   `json:"repo"`
		Permitted bool     `json:"permitted"`
	} `json:"sources"`
	Destinations []struct {
		Entries   []argocd.ProjectDestination `json:"entries"`
		Name      string                      `json:"name"`
		Server    string                      `json:"server"`
		Namespace string                      `json:"namespace"`
		Permitted bool                        `json:"permitted"`
	} `json:"destinations"`
	Namespaces []struct {
		Patterns  []string `json:"patterns"`
		Namespace string   `json:"namespace"`
		Permitted bool     `json:"permitted"`
	} `json:"namespaces"`
}

func TestProjectsPermitAsArgoCD(t *testing.T) {
	data, err := os.ReadFile("testdata/projects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases table
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases.Sources {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceRepos: tc.Patterns}}
		if got := authorization.SourcePermitted(p, tc.Repo); got != tc.Permitted {
			t.Errorf("%q on %q: %t", tc.Patterns, tc.Repo, got)
		}
	}
	for _, tc := range cases.Destinations {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{Destinations: tc.Entries}}
		if got := authorization.DestinationPermitted(p, tc.Name, tc.Server, tc.Namespace); got != tc.Permitted {
			t.Errorf("%v on %s, %s, %s: %t", tc.Entries, tc.Name, tc.Server, tc.Namespace, got)
		}
	}
	for _, tc := range cases.Namespaces {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceNamespaces: tc.Patterns}}
		if got := authorization.SourceNamespacePermitted(p, tc.Namespace, "argocd"); got != tc.Permitted {
			t.Errorf("%q on %s: %t", tc.Patterns, tc.Namespace, got)
		}
	}
}

// TestPermits checks that a cluster has the name and address from the hub's Argo CD. If no entry matches, the
// in-cluster address counts.
func TestPermits(t *testing.T) {
	to := func(server, name string) argocd.ProjectDestination {
		return argocd.ProjectDestination{Server: server, Name: name, Namespace: "*"}
	}
	const inCluster = apis.InClusterServer
	for title, tc := range map[string]struct {
		entries []argocd.ProjectDestination
		server  string
		want    bool
		hub     bool
	}{
		"by its name":    {entries: []argocd.ProjectDestination{to("", "c1")}, want: true},
		"by its address": {entries: []argocd.ProjectDestination{to("https://c1", "")}, server: "https://c1", want: true},
		"by the in-cluster name": {
			entries: []argocd.ProjectDestination{to("", "in-cluster"), {Name: "c2", Namespace: "other"}}, want: true},
		"the in-cluster name, forbidden by its own name": {
			entries: []argocd.ProjectDestination{to("", "in-cluster"), to("", "!c1")}},
		"all but the in-cluster name": {entries: []argocd.ProjectDestination{
			{Name: "!in-cluster", Namespace: "other"}, to("", "c2")}},
		"the in-cluster name, in another namespace": {
			entries: []argocd.ProjectDestination{{Name: "in-cluster", Namespace: "other"}}},
		"by the in-cluster address":  {entries: []argocd.ProjectDestination{to(inCluster, "")}, server: "https://c1", want: true},
		"any, its address not known": {entries: []argocd.ProjectDestination{to("*", "")}, want: true},
		"another one":                {entries: []argocd.ProjectDestination{to("https://c2", "c2")}, server: "https://c1"},
		"forbidden by its name": {
			entries: []argocd.ProjectDestination{to(inCluster, ""), to("*", ""), to("", "!c1")}, server: "https://c1"},
		"forbidden by its address": {entries: []argocd.ProjectDestination{to("*", ""), to("!https://c1", "")}, server: "https://c1"},
		"the hub's own cluster forbidden": {
			entries: []argocd.ProjectDestination{to("*", ""), to("!"+inCluster, "")}, server: "https://c1", want: true},
		"an address forbidden, its own not known": {entries: []argocd.ProjectDestination{to("*", ""), to("!https://c2", "")}},
		"the hub's own cluster forbidden, its address not known": {
			entries: []argocd.ProjectDestination{to("*", ""), to("!"+inCluster, "")}, want: true},
		"all but the hub's own cluster": {entries: []argocd.ProjectDestination{to("!"+inCluster, "")}, want: true},
		"the hub, which is forbidden":   {entries: []argocd.ProjectDestination{to("*", ""), to("!"+inCluster, "")}, hub: true},
		"the hub, forbidden by the in-cluster name": {
			entries: []argocd.ProjectDestination{to("*", ""), to("", "!in-cluster")}, server: "https://hub", hub: true},
		"the hub's own cluster forbidden by name": {
			entries: []argocd.ProjectDestination{to("*", ""), to("", "!in-cluster")}, want: true},
		"what may be its address": {entries: []argocd.ProjectDestination{to("https://c1", "")}},
	} {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{Destinations: tc.entries}}
		if got := authorization.Permits(p, authorization.Cluster{Name: "c1", Server: tc.server, Hub: tc.hub}, "a"); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

// TestDescribe checks that the address comes from the cluster's namespace, and never from the ManagedCluster.
func TestDescribe(t *testing.T) {
	c := fixture.Cluster("c1").URL("https://own.example.com").Obj()
	if got := authorization.Describe(c, nil); got != (authorization.Cluster{Name: "c1"}) {
		t.Errorf("got %+v", got)
	}
	given := map[string]string{apis.AnnotationServer: " https://given.example.com:6443/ "}
	if got := authorization.Describe(c, given); got != (authorization.Cluster{Name: "c1", Server: "https://given.example.com:6443"}) {
		t.Errorf("got %+v", got)
	}
	c.Labels = map[string]string{apis.LabelLocalCluster: "true"}
	if got := authorization.Describe(c, nil); got != (authorization.Cluster{Name: "c1", Hub: true}) {
		t.Errorf("got %+v", got)
	}
	if named := fixture.Cluster("local-cluster").Obj(); !authorization.IsHub(named) {
		t.Error("ACM's name for the hub is not known")
	}
}

func TestProjectRefusals(t *testing.T) {
	project := argocd.AppProject{Spec: argocd.AppProjectSpec{
		SourceRepos: []string{"https://git.example.com/*"}, SourceNamespaces: []string{"team-*"},
		Destinations: []argocd.ProjectDestination{{Name: "c1", Namespace: "a"}},
	}}
	project.Namespace, project.Name = "argocd", "p"
	own := project
	own.Spec.PermitOnlyProjectScopedClusters = true
	byAddress := project
	byAddress.Spec.Destinations = []argocd.ProjectDestination{{Server: "https://c1.example.com", Namespace: "a"}}
	byNoAddress := project
	byNoAddress.Spec.Destinations = []argocd.ProjectDestination{
		{Server: "*", Namespace: "a"}, {Server: apis.InClusterServer, Namespace: "a"}, {Name: "c1", Namespace: "a"}}
	good := authorization.Request{Project: "p", Sources: []string{"https://git.example.com/x"}, Namespace: "a"}
	for title, tc := range map[string]struct {
		project   argocd.AppProject
		namespace string
		cluster   authorization.Cluster
		edit      func(*authorization.Request)
		reason    string
		says      string
		missing   bool
	}{
		"permitted":              {},
		"of Argo CD's namespace": {namespace: "argocd"},
		"of a foreign namespace": {namespace: "other", reason: apis.ReasonProjectForbidden, says: "spec.sourceNamespaces"},
		"of another Argo CD": {namespace: "other", reason: apis.ReasonProjectForbidden,
			says: "if namespace other belongs to another Argo CD, leave the AppProjects as they are"},
		"a foreign namespace": {
			edit:   func(r *authorization.Request) { r.Namespace = "b" },
			reason: apis.ReasonDestinationForbidden, says: "{name: c1, namespace: b}"},
		"a pattern in place of a namespace": {
			edit:   func(r *authorization.Request) { r.Namespace = "b*" },
			reason: apis.ReasonDestinationForbidden, says: `"b*" on cluster "c1": the namespace has no valid name: correct spec.destination.namespace`},
		"a namespace that would end the advice": {
			edit:   func(r *authorization.Request) { r.Namespace = "b}, {namespace: '*'" },
			reason: apis.ReasonDestinationForbidden, says: "the namespace has no valid name"},
		"no namespace": {
			edit:   func(r *authorization.Request) { r.Namespace = "" },
			reason: apis.ReasonDestinationForbidden, says: "set spec.destination.namespace"},
		"a pattern in place of a repository": {
			edit:   func(r *authorization.Request) { r.Sources = []string{"https://evil.example.com/**"} },
			reason: apis.ReasonSourceForbidden, says: "a character that means a pattern"},
		"the second source": {
			edit:   func(r *authorization.Request) { r.Sources = append(r.Sources, "https://u:pass@evil.example.com/y") },
			reason: apis.ReasonSourceForbidden, says: `"https://evil.example.com/y"`},
		"text in place of a repository": {
			edit:   func(r *authorization.Request) { r.Manifests = true },
			reason: apis.ReasonManifestsForbidden, says: "spec.sourceRepos"},
		"not one of its clusters": {project: own, reason: apis.ReasonDestinationForbidden, says: "in its spec.destinations"},
		"by its address":          {project: byAddress, cluster: authorization.Cluster{Name: "c1", Server: "https://c1.example.com"}},
		"at another address": {project: byAddress, cluster: authorization.Cluster{Name: "c1", Server: "https://c2.example.com"},
			reason: apis.ReasonDestinationForbidden, says: "does not permit namespace"},
		"at an address that is not known": {project: byAddress, cluster: authorization.Cluster{Name: "c1"},
			reason: apis.ReasonDestinationForbidden, says: "set the cluster's address in the annotation", missing: true},
		"at an address that is not known, of a project that names none": {project: byNoAddress, cluster: authorization.Cluster{Name: "c1"},
			edit:   func(r *authorization.Request) { r.Namespace = "b" },
			reason: apis.ReasonDestinationForbidden, says: "does not permit namespace"},
	} {
		t.Run(title, func(t *testing.T) {
			p, namespace, c, r := tc.project, tc.namespace, tc.cluster, good
			if p.Name == "" {
				p = project
			}
			if namespace == "" {
				namespace = "team-a"
			}
			if c.Name == "" {
				c.Name = "c1"
			}
			if tc.edit != nil {
				tc.edit(&r)
			}
			got := authorization.Project(&p, namespace, "argocd", r, c)
			if (got == nil) != (tc.reason == "") || got != nil && (got.Reason != tc.reason || !strings.Contains(got.Message, tc.says)) {
				t.Errorf("got %+v", got)
			}
			if got != nil && (got.Missing != "") != tc.missing {
				t.Errorf("missing: %q", got.Missing)
			}
			if got != nil && strings.Contains(got.Message, "pass") {
				t.Error("the message has the password")
			}
		})
	}
}

func TestRead(t *testing.T) {
	from := func(repos ...string) authorization.Request {
		return authorization.Request{Project: "default", Sources: repos}
	}
	ofText := from("")
	ofText.Manifests = true
	for title, tc := range map[string]struct {
		spec, operation string
		want            authorization.Request
		fails           bool
	}{
		"plain": {spec: `{"project":"p","source":{"repoURL":"a"},"destination":{"namespace":"n"}}`,
			want: authorization.Request{Project: "p", Sources: []string{"a"}, Namespace: "n"}},
		"no project":         {spec: `{"source":{"repoURL":"a"}}`, want: from("a")},
		"several sources":    {spec: `{"sources":[{"repoURL":"a"},{"repoURL":"b"}]}`, want: from("a", "b")},
		"a left-over source": {spec: `{"source":{"repoURL":"c"},"sources":[{"repoURL":"a"}]}`, want: from("c", "a")},
		"hydrated":           {spec: `{"sourceHydrator":{"drySource":{"repoURL":"a"}}}`, want: from("a")},
		"no source":          {spec: `{}`, want: from("")},
		"no spec":            {want: from("")},
		"a sync of another": {spec: `{"source":{"repoURL":"a"}}`,
			operation: `{"sync":{"source":{"repoURL":"evil"}}}`, want: from("a", "evil")},
		"a sync of others": {spec: `{"source":{"repoURL":"a"}}`,
			operation: `{"sync":{"sources":[{"repoURL":"evil"}]}}`, want: from("a", "evil")},
		"a rollback of several sources": {spec: `{"sources":[{"repoURL":"a"},{"repoURL":"b"}]}`,
			operation: `{"sync":{"source":{"repoURL":""},"sources":[{"repoURL":"a"},{"repoURL":"c"}]}}`, want: from("a", "b", "a", "c")},
		"hydrated to another repository": {spec: `{"sourceHydrator":{"drySource":{"repoURL":"a"},"syncSource":{"repoURL":"b","path":"p"}}}`,
			want: from("a", "b")},
		"a field of a newer Argo CD": {spec: `{"source":{"repoURL":"a"},"newer":[{"deep":{"mirrorRepoURLs":["b",{"c":"c"}]}}]}`,
			want: from("b", "c", "a")},
		"in another case":   {spec: `{"source":{"repoURL":"a","RepoURL":"b"},"Sources":[{"repourl":"c"}]}`, want: from("c", "b", "a")},
		"said twice":        {spec: `{"source":{"repoURL":"a","repoURL":"b"}}`, want: from("b")}, // as for the API server
		"an empty address":  {spec: `{"sources":[{"repoURL":"a"},{"repoURL":""}]}`, want: from("a", "")},
		"of another kind":   {spec: `{"source":{"repoURL":7,"path":"p"}}`, want: from("")},
		"values of a chart": {spec: `{"source":{"repoURL":"a","helm":{"valuesObject":{"child":{"repoURL":"b"}}}}}`, want: from("a")},
		"named as values are": {spec: `{"source":{"repoURL":"a","valuesObject":{"repoURL":"b"},"helm":{"x":{"valuesObject":{"repoURL":"c"}}}}}`,
			want: from("c", "a", "b")},
		"values in a list":         {spec: `{"source":{"repoURL":"a"},"helm":[{"valuesObject":{"repoURL":"b"}}]}`, want: from("a")},
		"values in another case":   {spec: `{"Helm":{"valuesObject":{"repoURL":"a"}},"helm":{"valuesobject":{"repoURL":"b"}}}`, want: from("a", "b")},
		"a number of no Go type":   {spec: `{"x":[1e999],"y":{"repoURL":"a"}}`, want: from("a")},
		"other kinds, and nothing": {spec: `{"x":[{"repoURL":7},{"repoURL":null},{"repoURL":true},{"repoURLsuffix":"b"}]}`, want: from("")},
		"lists in lists":           {spec: `{"a":[[[{"b":[{"REPOURL":["c",{"d":"e"}]}]}]]]}`, want: from("c", "e")},
		"a sync of a newer Argo CD": {spec: `{"source":{"repoURL":"a"}}`,
			operation: `{"newer":{"repoURL":"b"},"sync":{"newer":[[{"repoURL":"c"}]]}}`, want: from("a", "b", "c")},
		"a source of no kind":         {spec: `{"source":"a"}`, fails: true},
		"a sync of text":              {operation: `{"sync":{"manifests":["{}"]}}`, want: ofText},
		"a sync of no text":           {operation: `{"sync":{"manifests":[]}}`, want: from("")},
		"a sync of no text given":     {operation: `{"sync":{"manifests":null}}`, want: from("")},
		"a sync of what is none":      {operation: `{"sync":{"manifests":"{}"}}`, fails: true},
		"no object":                   {spec: `[]`, fails: true},
		"no operation":                {spec: `{}`, operation: `[]`, fails: true},
		"no object, and an operation": {spec: `[]`, operation: `{"sync":{}}`, fails: true},
		"with spaces and escapes": {spec: "{ \"x\" : [ 1 , true ] ,\n\t\"repo\\u0055RL\" : [ \"\\\"a\", {\"b\\\\\" :\"b\\u00e9\"} ] }",
			want: from(`"a`, "bé")},
		"not UTF-8": {spec: "{\"repoURL\":[\"\x80\",\"a\xff\"]}", want: from("\ufffd", "a\ufffd")},
	} {
		b := fixture.Application("x").Spec(tc.spec)
		if tc.operation != "" {
			b.Operation(tc.operation)
		}
		got, err := authorization.Read(b.Obj())
		if (err != nil) != tc.fails || fmt.Sprintf("%q", got.Sources) != fmt.Sprintf("%q", tc.want.Sources) || fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%s: got %+v, %v", title, got, err)
		}
	}
}

// TestRequestsNameTheirRepositories runs a table that a test with Argo CD's own functions also uses.
func TestRequestsNameTheirRepositories(t *testing.T) {
	data, err := os.ReadFile("testdata/requests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Spec      json.RawMessage
		Operation json.RawMessage
		Sources   []string
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		b := fixture.Application("x").Spec(string(tc.Spec))
		if len(tc.Operation) > 0 {
			b.Operation(string(tc.Operation))
		}
		got, err := authorization.Read(b.Obj())
		slices.Sort(got.Sources)
		if err != nil || !slices.Equal(got.Sources, tc.Sources) {
			t.Errorf("%s: got %q, %v", tc.Spec, got.Sources, err)
		}
	}
}

// TestAPatternThatPanics checks patterns on which the glob library panics. Argo CD deploys no Application
// then. Therefore a pattern with a panic permits no source, and a "!" pattern with a panic forbids all sources.
func TestAPatternThatPanics(t *testing.T) {
	for _, pattern := range []string{"*1{", "!*1{"} {
		if authorization.Matches(pattern, "https://c1") {
			t.Errorf("%s permits something", pattern)
		}
	}
	if !authorization.Matches("!*1[", "https://c1") {
		t.Error("a pattern that cannot be read without a panic denies something, which it does not to Argo CD")
	}
}

// TestLongPatterns checks that a glob above the maximum length permits nothing, and as a "!" pattern forbids all.
func TestLongPatterns(t *testing.T) {
	const repo = "https://git.example.com/a"
	for length, want := range map[int]bool{512: true, 513: false, 100_000: false} {
		deny := "!" + strings.Repeat("?", length)
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceRepos: []string{"*", deny}}}
		if got := authorization.SourcePermitted(p, repo); got != want {
			t.Errorf("%d characters that deny: permitted %t", length, got)
		}
		long := repo + strings.Repeat("a", length-len(repo))
		p.Spec.SourceRepos = []string{long}
		if got := authorization.SourcePermitted(p, long); got != want {
			t.Errorf("%d characters: permitted %t", length, got)
		}
	}
}

// FuzzPatterns checks that no pattern crashes the process, or permits an address that the project forbids.
func FuzzPatterns(f *testing.F) {
	f.Add("https://git.example.com/*", "https://git.example.com/a.git", "/^a/")
	f.Add("{[", "git@x:y", "/(/")
	f.Add(" *\t ", "https://git.example.com/a", "")
	f.Add(" *# ", "https://git.example.com/a", "")
	f.Fuzz(func(t *testing.T, pattern, text, namespaces string) {
		// Argo CD skips blanks before the "!" sign; FuzzProjects of e2e/contract compares both.
		bare := strings.TrimLeftFunc(pattern, func(r rune) bool { return r == '!' || unicode.IsSpace(r) })
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{
			SourceRepos:      []string{"*", "!" + bare, pattern},
			SourceNamespaces: []string{namespaces},
			Destinations:     []argocd.ProjectDestination{{Server: pattern, Name: pattern, Namespace: pattern}},
		}}
		authorization.SourceNamespacePermitted(p, text, "argocd")
		authorization.Permits(p, authorization.Cluster{Name: text, Server: text}, text)
		only := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceRepos: []string{bare}}}
		// Many patterns match all addresses, for example "*.git". As in Argo CD, they deny nothing.
		all := authorization.SourcePermitted(only, "https://elsewhere.example.org/a/b/c/d")
		if authorization.SourcePermitted(only, text) && authorization.SourcePermitted(p, text) && !all {
			t.Errorf("%q is forbidden by %q, and permitted", text, pattern)
		}
	})
}

package authorization_test

import (
	"os"
	"strings"
	"testing"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestHolds runs testdata/sets.yaml, which Open Cluster Management's own functions are held against as well.
func TestHolds(t *testing.T) {
	data, err := os.ReadFile("testdata/sets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Selector clusterv1beta2.ManagedClusterSelector `json:"selector"`
		Labels   map[string]string                     `json:"labels"`
		Holds    bool                                  `json:"holds"`
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for i, tc := range cases {
		set := &clusterv1beta2.ManagedClusterSet{Spec: clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: tc.Selector}}
		set.Name = "dev"
		c := &clusterv1.ManagedCluster{}
		c.Labels = tc.Labels
		if got := authorization.Holds(set, c); got != tc.Holds {
			t.Errorf("case %d, %+v on %v: %t", i, tc.Selector, tc.Labels, got)
		}
	}
}

func TestNoGrantNamesWhatWouldAllowIt(t *testing.T) {
	for says, r := range map[string]*authorization.Refusal{
		"for one of the ManagedClusterSets that hold it (dev, global)": authorization.NoGrant("c1", "team-a", []string{"global", "dev"}, true),
		"(none does)":        authorization.NoGrant("c1", "team-a", nil, true),
		"(1, 2, 3, 4, 5, …)": authorization.NoGrant("c1", "team-a", []string{"6", "5", "4", "3", "2", "1"}, true),
		"what would allow it is a Placement in namespace team-a": authorization.NoGrant("c1", "team-a", nil, false),
	} {
		if !strings.Contains(r.Message, says) || r.Reason != apis.ReasonClusterForbidden {
			t.Errorf("got %+v, want %q", r, says)
		}
	}
}

func TestNamespace(t *testing.T) {
	rule := func(s string) []authorization.NamespaceRule {
		r, err := authorization.ParseNamespaceRule(s)
		if err != nil {
			t.Fatal(err)
		}
		return []authorization.NamespaceRule{r}
	}
	for title, tc := range map[string]struct {
		from, to string
		rules    []authorization.NamespaceRule
		want     bool
	}{
		"the same":                   {from: "team-a", to: "team-a", want: true},
		"of Argo CD's namespace":     {from: "argocd", to: "other", want: true},
		"an escape":                  {from: "team-a", to: "argocd"},
		"a rule":                     {from: "team-a", to: "apps-a", rules: rule("team-*=apps-*"), want: true},
		"a rule for others":          {from: "x", to: "apps-a", rules: rule("team-*=apps-*")},
		"a rule for other targets":   {from: "team-a", to: "argocd", rules: rule("team-*=apps-*")},
		"all, as a single tenant is": {from: "x", to: "argocd", rules: rule("*=*"), want: true},
	} {
		app := fixture.Application("a").Namespace(tc.from).Annotation(apis.AnnotationAppNamespace, tc.to).Obj()
		got := authorization.Namespace(app, "argocd", tc.rules)
		if (got == nil) != tc.want || got != nil && !strings.Contains(got.Message, tc.from+"="+tc.to) {
			t.Errorf("%s: got %+v", title, got)
		}
	}
	for _, wrong := range []string{"", "a", "=a", "a=", "[=a", "a=["} {
		if _, err := authorization.ParseNamespaceRule(wrong); err == nil {
			t.Errorf("%q is taken for a rule", wrong)
		}
	}
}

package authorization_test

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestHolds runs testdata/sets.yaml. A test with Open Cluster Management's own functions uses the same table.
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
		if got := authorization.HasCluster(set, c); got != tc.Holds {
			t.Errorf("case %d, %+v on %v: %t", i, tc.Selector, tc.Labels, got)
		}
	}
}

func TestNoGrantNamesTheMissingObject(t *testing.T) {
	for says, r := range map[string]*authorization.Refusal{
		"for one of the cluster's ManagedClusterSets (dev, global)": authorization.NoGrant("c1", "team-a", []string{"global", "dev"}, true),
		"(none exists)":      authorization.NoGrant("c1", "team-a", nil, true),
		"(1, 2, 3, 4, 5, …)": authorization.NoGrant("c1", "team-a", []string{"6", "5", "4", "3", "2", "1"}, true),
		"(1, 2, 3, 4, 5), ":  authorization.NoGrant("c1", "team-a", []string{"5", "4", "3", "2", "1"}, true),
		"to permit the cluster, create a Placement in namespace team-a": authorization.NoGrant("c1", "team-a", nil, false),
	} {
		if !strings.Contains(r.Message, says) || r.Reason != apis.ReasonClusterForbidden || r.Missing == "" {
			t.Errorf("got %+v, want %q", r, says)
		}
	}
}

// TestWithdrawn checks that only an existing set with an existing binding refuses a cluster.
func TestWithdrawn(t *testing.T) {
	set := func(selector clusterv1beta2.ManagedClusterSelector) *clusterv1beta2.ManagedClusterSet {
		s := &clusterv1beta2.ManagedClusterSet{Spec: clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: selector}}
		s.Name = "dev"
		return s
	}
	exclusive := set(clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.ExclusiveClusterSetLabel})
	byLabel := func(operator metav1.LabelSelectorOperator) *clusterv1beta2.ManagedClusterSet {
		return set(clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: operator, Values: []string{"dev"}}},
		}})
	}
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	binding.Spec.ClusterSet = "dev"
	going, goingSet := binding.DeepCopy(), exclusive.DeepCopy()
	going.DeletionTimestamp, goingSet.DeletionTimestamp = &metav1.Time{}, &metav1.Time{}
	going.DeletionTimestamp.Time, goingSet.DeletionTimestamp.Time = time.Now(), time.Now()
	elsewhere := map[string]string{clusterv1beta2.ClusterSetLabel: "prod", "env": "prod"}
	named := types.NamespacedName{Namespace: "team-a", Name: "dev"}
	for title, tc := range map[string]struct {
		binding *clusterv1beta2.ManagedClusterSetBinding
		set     *clusterv1beta2.ManagedClusterSet
		labels  map[string]string
		missing string
	}{
		"no binding":                       {nil, exclusive, elsewhere, "ManagedClusterSetBinding team-a/dev"},
		"a binding that goes":              {going, exclusive, elsewhere, "ManagedClusterSetBinding team-a/dev"},
		"no set":                           {binding, nil, elsewhere, "ManagedClusterSet dev"},
		"a set that goes":                  {binding, goingSet, elsewhere, "ManagedClusterSet dev"},
		"a cluster without the label":      {binding, exclusive, nil, "the label " + clusterv1beta2.ClusterSetLabel},
		"a selector that cannot be read":   {binding, byLabel("Like"), elsewhere, "a readable selector"},
		"a selector of a later kind":       {binding, set(clusterv1beta2.ManagedClusterSelector{SelectorType: "New"}), elsewhere, "ManagedClusterSet dev"},
		"a cluster of another set":         {binding, exclusive, elsewhere, ""},
		"a selector that does not match":   {binding, byLabel(metav1.LabelSelectorOpIn), elsewhere, ""},
		"a selector, and no label at all":  {binding, byLabel(metav1.LabelSelectorOpIn), nil, ""},
		"a set without a type of selector": {binding, set(clusterv1beta2.ManagedClusterSelector{}), elsewhere, ""},
	} {
		cluster := &clusterv1.ManagedCluster{}
		cluster.Name, cluster.Labels = "c1", tc.labels
		got := authorization.Withdrawn(*authorization.NoGrant("c1", "team-a", nil, true), named, tc.binding, tc.set, cluster)
		if (got.Missing == "") != (tc.missing == "") || !strings.Contains(got.Missing, tc.missing) {
			t.Errorf("%s: %q is missing", title, got.Missing)
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
		home     string
		rules    []authorization.NamespaceRule
		want     bool
	}{
		"the same":                   {from: "team-a", to: "team-a", want: true},
		"of Argo CD's namespace":     {from: "argocd", to: "other", want: true},
		"an escape":                  {from: "team-a", to: "argocd"},
		"chosen for the cluster":     {from: "team-a", to: "apps", home: "apps", want: true},
		"chosen, and another named":  {from: "team-a", to: "argocd", home: "apps"},
		"a rule":                     {from: "team-a", to: "apps-a", rules: rule("team-*=apps-*"), want: true},
		"a rule for others":          {from: "x", to: "apps-a", rules: rule("team-*=apps-*")},
		"a rule for other targets":   {from: "team-a", to: "argocd", rules: rule("team-*=apps-*")},
		"all, as a single tenant is": {from: "x", to: "argocd", rules: rule("*=*"), want: true},
	} {
		app := fixture.Application("a").Namespace(tc.from).Annotation(apis.AnnotationAppNamespace, tc.to).Obj()
		got := authorization.Namespace(app, "argocd", tc.home, tc.rules)
		if (got == nil) != tc.want || got != nil && !strings.Contains(got.Message, tc.from+"="+tc.to) {
			t.Errorf("%s: got %+v", title, got)
		}
	}
	for _, wrong := range []string{"a=" + strings.Repeat("?", 513), "", "a", "=a", "a=", "[=a", "a=["} {
		if _, err := authorization.ParseNamespaceRule(wrong); err == nil {
			t.Errorf("%q is taken for a rule", wrong)
		}
	}
}

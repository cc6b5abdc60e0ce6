package authorization_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestParseServiceAccount(t *testing.T) {
	for text, good := range map[string]bool{
		"open-cluster-management/deployer": true, "a/b.c": true, "a": false, "/a": false, "a/": false, "": false, "A/b": false,
		"a/B": false, "a/b/c": false,
		"a.b/c": false,
	} {
		got, err := authorization.ParseServiceAccount(text)
		if (err == nil) != good || good && got.String() != text {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

// TestPatternsEnd checks that no pattern of a project crashes the process, or keeps it busy.
func TestPatternsEnd(t *testing.T) {
	for _, pattern := range []string{"/", "//", "/(x+x+)+y/"} {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceNamespaces: []string{pattern}}}
		start := time.Now()
		got := authorization.SourceNamespacePermitted(p, strings.Repeat("x", 60), "argocd")
		if took := time.Since(start); got || took > 5*time.Second {
			t.Errorf("%q: %t after %s", pattern, got, took)
		}
	}
}

// TestExcludes checks that a set never excludes its own clusters, for each kind of selector.
func TestExcludes(t *testing.T) {
	c := fixture.Cluster("c1").Label(clusterv1beta2.ClusterSetLabel, "dev").Label("env", "dev").Obj()
	by := func(name string, selector clusterv1beta2.ManagedClusterSelector) bool {
		set := &clusterv1beta2.ManagedClusterSet{Spec: clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: selector}}
		set.Name = name
		return authorization.Excludes(set, c)
	}
	labels := func(value string) clusterv1beta2.ManagedClusterSelector {
		return clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": value}}}
	}
	got := fmt.Sprint(by("dev", clusterv1beta2.ManagedClusterSelector{}), by("prod", clusterv1beta2.ManagedClusterSelector{}),
		by("x", labels("dev")), by("x", labels("prod")), by("x", labels("not a label")))
	if got != "false true false true false" {
		t.Error(got)
	}
}

// TestVersionsOfGlobs checks patterns that gobwas/glob 0.2.3 and 1.1.0 read differently. The answers of 1.1.0 are from the
// library. A pattern permits only the values that both versions match, and forbids the values that one version matches.
func TestVersionsOfGlobs(t *testing.T) {
	type answer struct{ former, latter bool }
	for _, tc := range []struct {
		pattern, text string
		want          answer
	}{
		{"team-*-dev", "team-a-dev", answer{true, true}},
		{"team-*-dev", "team-dev", answer{true, false}},
		{"a**a", "a", answer{true, false}},
		{"?", "", answer{true, false}},
		{"[!x]", "", answer{true, false}},
		{"{*", "", answer{true, false}},
		{`*\`, "", answer{true, false}},
		{"{}*", "", answer{false, true}},
		{"{a,}b", "b", answer{true, true}},
		{"?b", "éb", answer{false, true}},
		{"{a,b}-[c-e]?", "b-dx", answer{true, true}},
		{`[!a\]]\*`, "b*", answer{true, true}},
		{"a,}", "a,}", answer{true, true}},
		{"team-*", "other", answer{false, false}},
	} {
		permits := authorization.Matches(tc.pattern, tc.text)
		forbids := !authorization.Matches("!"+tc.pattern, tc.text)
		if permits != (tc.want.former && tc.want.latter) || forbids != (tc.want.former || tc.want.latter) {
			t.Errorf("%q on %q: permits %t, forbids %t", tc.pattern, tc.text, permits, forbids)
		}
		if got := authorization.Disputed(tc.pattern, tc.text); got != (tc.want.former != tc.want.latter) {
			t.Errorf("%q on %q: disputed %t", tc.pattern, tc.text, got)
		}
	}
}

// TestRefusalByADisputedPattern checks that a refusal names a pattern with several meanings.
func TestRefusalByADisputedPattern(t *testing.T) {
	p := &argocd.AppProject{Spec: argocd.AppProjectSpec{SourceNamespaces: []string{"team-*-dev"}}}
	refusal := authorization.Project(p, "team-dev", "argocd", authorization.Request{}, authorization.Cluster{Name: "c1"})
	if refusal == nil || !strings.Contains(refusal.Message, `Argo CD 3.6 reads the pattern "team-*-dev" differently from earlier versions`) {
		t.Errorf("got %v", refusal)
	}
}

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

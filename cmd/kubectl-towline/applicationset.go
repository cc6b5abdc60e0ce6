package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// applicationSet is an ApplicationSet, of which only what is looked at is known.
type applicationSet struct{ unstructured.Unstructured }

func newApplicationSet() *applicationSet {
	s := &applicationSet{}
	s.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return s
}

// applications is how many Applications it has: Argo CD 3 counts them, and older ones list them.
func (s *applicationSet) applications() int {
	if n, ok, _ := unstructured.NestedInt64(s.Object, "status", "resourcesCount"); ok {
		return int(n)
	}
	list, _, _ := unstructured.NestedSlice(s.Object, "status", "resources")
	return len(list)
}

// conditions are those of its status. One that cannot be read is left out.
func (s *applicationSet) conditions() []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
	var out []metav1.Condition
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string { value, _ := fields[name].(string); return value }
		c := metav1.Condition{
			Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message"),
		}
		_ = c.LastTransitionTime.UnmarshalQueryParameter(text("lastTransitionTime"))
		out = append(out, c)
	}
	return out
}

// decisionGenerators are the labels by which its generators find PlacementDecisions, wherever they are in matrix and merge.
func (s *applicationSet) decisionGenerators() []map[string]string {
	list, _, _ := unstructured.NestedSlice(s.Object, "spec", "generators")
	return decisions(list)
}

func decisions(generators []any) []map[string]string {
	var out []map[string]string
	for _, item := range generators {
		g, _ := item.(map[string]any)
		labels, ok, _ := unstructured.NestedStringMap(g, "clusterDecisionResource", "labelSelector", "matchLabels")
		if ok && labels[clusterv1beta1.PlacementLabel] != "" {
			out = append(out, labels)
		}
		for _, nesting := range []string{"matrix", "merge"} {
			nested, _, _ := unstructured.NestedSlice(g, nesting, "generators")
			out = append(out, decisions(nested)...)
		}
	}
	return out
}

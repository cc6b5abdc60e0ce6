package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/generator"
	"github.com/towline-io/towline/pkg/view"
)

// applicationSet is an unstructured ApplicationSet, with accessors for the fields of this program.
type applicationSet struct{ unstructured.Unstructured }

func newApplicationSet() *applicationSet {
	s := &applicationSet{}
	s.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return s
}

// applications returns the number of Applications: Argo CD 3 counts them, and older versions list them.
func (s *applicationSet) applications() int {
	if n, ok, _ := unstructured.NestedInt64(s.Object, "status", "resourcesCount"); ok {
		return int(n)
	}
	list, _, _ := unstructured.NestedSlice(s.Object, "status", "resources")
	return len(list)
}

// conditions returns the conditions of the status, without unreadable entries.
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

// decisionGenerators returns the labels by which the generators find PlacementDecisions, including generators inside
// matrix and merge.
func (s *applicationSet) decisionGenerators() []map[string]string {
	spec, err := json.Marshal(s.Object["spec"])
	if err != nil {
		return nil // cannot happen: the object comes from the API server
	}
	return generator.Labels(spec)
}

// steps returns the states of the Applications in a progressive rollout; empty without a rollout.
func (s *applicationSet) steps() []view.Step {
	list, _, _ := unstructured.NestedSlice(s.Object, "status", "applicationStatus")
	var out []view.Step
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string { value, _ := fields[name].(string); return value }
		if text("step") != "" {
			out = append(out, view.Step{Application: text("application"), Step: text("step"), Status: text("status"), Message: text("message")})
		}
	}
	return out
}

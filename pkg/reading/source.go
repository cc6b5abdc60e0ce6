package reading

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/why"
)

// apiServices is the API group of APIServices.
var apiServices = schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}

// Source reads the state of towline-source into the facts, if the cluster reads the Application's repositories through
// the hub. The state stays nil if the user may not read it.
func Source(ctx context.Context, c client.Reader, f *why.Facts) (err error) {
	if !f.ThroughHub() {
		return nil
	}
	f.Source, err = SourceState(ctx, c)
	return ignoreForbidden(err)
}

// ignoreForbidden returns nil for a refused read.
func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// objectOf returns an empty object of a kind.
func objectOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	return out
}

// SourceState reads the state of towline-source: the condition of its APIService, which the hub's API server writes.
func SourceState(ctx context.Context, c client.Reader) (*why.SourceState, error) {
	service, err := Get(ctx, c, types.NamespacedName{Name: source.APIService}, objectOf(apiServices.WithKind("APIService")))
	if err != nil {
		return nil, err
	}
	if service == nil {
		return &why.SourceState{Missing: true}, nil
	}
	out := &why.SourceState{Unavailable: "its APIService has no condition Available yet"}
	if c := Condition(service, "Available"); c != nil {
		out.Unavailable, _ = c["message"].(string)
		if c["status"] == "True" {
			out.Unavailable = ""
		}
		text, _ := c["lastTransitionTime"].(string)
		if since, err := time.Parse(time.RFC3339, text); err == nil {
			out.Since = &since
		}
	}
	return out, nil
}

// Condition returns the condition of a type in the status of an object; nil for none.
func Condition(of *unstructured.Unstructured, conditionType string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["type"] == conditionType {
			return c
		}
	}
	return nil
}

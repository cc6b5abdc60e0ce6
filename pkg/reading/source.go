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
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// SourceState reads the state of towline-source: the condition of its APIService, which the hub's API server writes.
func SourceState(ctx context.Context, c client.Reader) (*why.SourceState, error) {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(apiServices.WithKind("APIService"))
	found, err := Get(ctx, c, types.NamespacedName{Name: source.APIService}, service)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return &why.SourceState{Missing: true}, nil
	}
	out := &why.SourceState{Unavailable: "its APIService has no condition Available yet"}
	conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] != "Available" {
			continue
		}
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

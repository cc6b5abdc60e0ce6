package reading

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/why"
)

// apiServices is the API group of APIServices.
var apiServices = schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}

// Source reads the way of the Application's repositories through the hub into the facts, if the cluster reads through the
// hub: the states of towline-source and of the cluster's agent, and the first repository that the hub cannot read. A
// fact stays empty if the user may not read the fact.
func Source(ctx context.Context, c client.Reader, f *why.Facts) (err error) {
	if !f.ThroughHub() || f.App.Cluster() == "" {
		return nil
	}
	if f.Source, err = SourceState(ctx, c); ignoreForbidden(err) != nil {
		return err
	}
	if err := agent(ctx, c, f.App.Cluster(), &f.Agent); err != nil {
		return err
	}
	return repository(ctx, c, f)
}

// repository reads the first repository of the Application that the hub cannot read.
func repository(ctx context.Context, c client.Reader, f *why.Facts) error {
	if problem, _ := f.Source.Problem(); problem != "" {
		return nil
	}
	for _, address := range source.Addresses(f.App.Spec.Raw) {
		key := types.NamespacedName{Namespace: f.App.Cluster(), Name: source.Name(f.App.Project(), address)}
		of, err := Get(ctx, c, key, objectOf(source.GroupVersion.WithKind(source.Kind)))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			f.Source = &why.SourceState{Unavailable: err.Error()}
			return nil //nolint:nilerr // the user gets the error as the state of towline-source
		case of == nil: // Towline has not delivered the Application with this repository
			continue
		}
		status, _, _ := unstructured.NestedMap(of.Object, "status")
		out := &why.Repository{Name: key.Name, Address: address}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &out.Failure); err != nil {
			return err
		}
		if out.Error != "" {
			f.Repository = out
			return nil
		}
	}
	return nil
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

package reading

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// Differences reads into the facts whether `argocd app diff` works on the hub for the Application, as far as the user may
// read the state. Of the answers, a cluster decides only about its own Applications.
func Differences(ctx context.Context, c client.Reader, f *why.Facts) error {
	key := work.Key(f.App)
	if f.App.Cluster() == "" || len(content.IsPathSegmentName(key.Namespace)) > 0 {
		return nil
	}
	d := &why.Differences{}
	f.Differences = d
	of := objectOf(source.GroupVersion.WithKind(managedresources.Kind))
	err := c.Get(ctx, key, of)
	switch {
	case err == nil:
		fields, _, _ := unstructured.NestedMap(of.Object, "status")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &d.Status); err != nil {
			return err
		}
		if d.Status.Reason == managedresources.ReasonNotSent {
			return agent(ctx, c, key.Namespace, &d.Agent)
		}
		return nil
	case apierrors.IsForbidden(err):
		d.Unread = true
		return nil
	case tells(err):
		d.Absent = true
		return nil
	case ctx.Err() != nil:
		return err
	}
	d.Off = true // towline-source does not serve the API, or is away
	d.Source, err = SourceState(ctx, c)
	return ignoreForbidden(err)
}

// tells reports whether towline-source itself answers that the object does not exist. A server that does not serve the
// resource has another answer: without the name of the resource, or not a Status.
func tells(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		answer.ErrStatus.Details != nil && answer.ErrStatus.Details.Kind == managedresources.Resource
}

// agent reads the state of the agent of a cluster: the add-on of the cluster, and the template of the agents.
func agent(ctx context.Context, c client.Reader, cluster string, into *why.AgentState) error {
	addOn, err := Get(ctx, c, types.NamespacedName{Namespace: cluster, Name: check.AddOnAgent}, objectOf(addOns.WithKind("ManagedClusterAddOn")))
	switch {
	case err == nil && addOn == nil:
		into.Missing = true
	case err == nil:
		available := Condition(addOn, "Available")
		into.Unavailable = available != nil && available["status"] != "True"
	case ignoreForbidden(err) != nil:
		return err
	}
	template, err := Get(ctx, c, types.NamespacedName{Name: check.AddOnAgent}, objectOf(addOns.WithKind("AddOnTemplate")))
	if template != nil && err == nil {
		manifests, _ := Manifests(template) // an unreadable template has no agent
		without := func(flag string) bool {
			return !slices.ContainsFunc(Containers(manifests), func(container map[string]any) bool { return Has(container, flag) })
		}
		into.Silent, into.Closed = without(FlagManagedResources), without(FlagSource)
	}
	return ignoreForbidden(err)
}

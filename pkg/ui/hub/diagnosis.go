package hub

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// reader reads the objects of one page, and records forbidden reads.
type reader struct {
	client.WithWatch

	unread reading.Unread
}

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return r.unread.Note(r.WithWatch, "get", into, key.Namespace, r.WithWatch.Get(ctx, key, into, opts...))
}

// List implements client.Reader. A kind that the hub does not serve has no objects.
func (r *reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	return client.IgnoreNotFound(r.unread.Note(r.WithWatch, "list", list, o.Namespace, r.WithWatch.List(ctx, list, opts...)))
}

// facts returns the facts about the path of an Application.
func (r *reader) facts(ctx context.Context, app *argocd.Application, flags Flags) (*why.Facts, error) {
	f := &why.Facts{Now: time.Now(), App: app}
	if err := r.set(ctx, f); err != nil {
		return nil, err
	}
	if err := r.decide(ctx, f, flags); err != nil {
		return nil, err
	}
	if err := reading.Source(ctx, r, f); err != nil {
		return nil, err
	}
	f.Unread = slices.Sorted(slices.Values(r.unread.Lines()))
	return f, nil
}

// set reads the ApplicationSet that made the Application.
func (r *reader) set(ctx context.Context, f *why.Facts) error {
	name, ok := f.App.ApplicationSet()
	if !ok {
		return nil
	}
	set, err := r.applicationSet(ctx, types.NamespacedName{Namespace: f.App.Namespace, Name: name})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Set = &why.Set{Namespace: f.App.Namespace, Name: name, Missing: set == nil}
	if set != nil {
		f.Set.Applications, f.Set.Conditions = set.Status.applications(), set.Status.Conditions
	}
	return nil
}

// decide adds Towline's plan for the Application if all facts for the decision are readable, and otherwise the readable
// facts.
func (r *reader) decide(ctx context.Context, f *why.Facts, flags Flags) error {
	explainer, err := r.explainer(ctx, flags)
	if err != nil {
		return err
	}
	facts, plan, err := explainer.Explain(ctx, f.App)
	switch {
	case err == nil && len(r.unread.Lines()) == 0:
		managed := facts.Clusters[f.App.Cluster()]
		f.Plan, f.Work, f.Managed = plan, facts.Own, &managed
		return nil
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("decide about Application %s/%s: %w", f.App.Namespace, f.App.Name, err)
	}
	return reading.Delivery(ctx, r, f)
}

// applicationSet is an ApplicationSet with only its status.
type applicationSet struct {
	Status setStatus `json:"status"`
}

type setStatus struct {
	ResourcesCount    int                `json:"resourcesCount"`
	Resources         []struct{}         `json:"resources"`
	Conditions        []metav1.Condition `json:"conditions"`
	ApplicationStatus []struct {
		Application string `json:"application"`
		Step        string `json:"step"`
		Status      string `json:"status"`
		Message     string `json:"message"`
	} `json:"applicationStatus"`
}

// applications returns the number of Applications: Argo CD 3 counts the Applications, and older versions list the
// Applications.
func (s *setStatus) applications() int { return max(s.ResourcesCount, len(s.Resources)) }

// applicationSet reads an ApplicationSet; nil if missing. Malformed status fields are ignored.
func (r *reader) applicationSet(ctx context.Context, key types.NamespacedName) (*applicationSet, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	u, err := reading.Get(ctx, r, key, u)
	if err != nil || u == nil {
		return nil, err
	}
	out := &applicationSet{}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	for name, value := range status {
		// Convert one field at a time: a field in the format of a different Argo CD then spoils no other field.
		part := &setStatus{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{name: value}, part) != nil {
			continue
		}
		switch name {
		case "resourcesCount":
			out.Status.ResourcesCount = part.ResourcesCount
		case "resources":
			out.Status.Resources = part.Resources
		case "conditions":
			out.Status.Conditions = part.Conditions
		case "applicationStatus":
			out.Status.ApplicationStatus = part.ApplicationStatus
		}
	}
	return out, nil
}

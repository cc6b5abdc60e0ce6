package propagation

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// indexed is a cache with the same Applications and works for any index.
type indexed struct {
	client.Client
	apps  []argocd.Application
	works []workv1.ManifestWork
}

func (c indexed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch into := into.(type) {
	case *argocd.ApplicationList:
		into.Items = slices.Clone(c.apps)
	case *workv1.ManifestWorkList:
		into.Items = slices.Clone(c.works)
	default:
		return fmt.Errorf("the cache does not have %T", into)
	}
	return nil
}

// TestFreedTarget: the Applications waiting for a target are queued when no work keeps the target any more, and not
// before.
func TestFreedTarget(t *testing.T) {
	in := func(namespace string) *fixture.ApplicationBuilder {
		return fixture.Application("guestbook").Annotation(apis.AnnotationAppNamespace, namespace)
	}
	hub := indexed{apps: []argocd.Application{
		*in("old").Namespace("waits").Obj(),
		*in("new").Namespace("waits-for-the-other").Obj(),
		*in("old").Namespace("elsewhere").Cluster("cluster2").Obj(),
		*fixture.Application("another").Namespace("another").Annotation(apis.AnnotationAppNamespace, "old").Obj(),
	}}
	for title, tc := range map[string]struct {
		change func(*change) // of the work of an Application in the namespace "old", as reported
		want   []string
	}{
		"a new report on the work":                            {change: func(c *change) { c.after.Status = reportFrom("old").Healthy("b").Obj() }},
		"the work is deleted, and the agent has not finished": {change: func(c *change) { c.after.DeletionTimestamp = &metav1.Time{} }},
		"the work is gone":                                    {change: func(c *change) { c.after = nil }, want: []string{"waits"}},
		"the work is gone, and the Application was released": {
			change: func(c *change) {
				released, err := work.Release(c.before, nil)
				if err != nil {
					t.Fatal(err)
				}
				c.before, c.after = released, nil
			},
			want: []string{"waits"}},
		"the work is gone before the agent has seen the work": {
			change: func(c *change) { c.before.Status, c.after = workv1.ManifestWorkStatus{}, nil },
			want:   []string{"waits"}},
		"the work is created": {change: func(c *change) { c.before = nil }},
		"the namespace changes": {change: func(c *change) {
			moved := c.before.Status
			c.after = rendered(t, in("new").Obj())
			c.after.Generation, c.after.Status = 2, moved
		}},
		"the agent has applied the new namespace": {
			change: func(c *change) {
				c.before = rendered(t, in("new").Obj())
				c.before.Generation, c.before.Status = 2, reportFrom("old").Obj()
				c.after = c.before.DeepCopy()
				c.after.Status = reportFrom("new").Obj()
			},
			want: []string{"waits", "waits-for-the-other"}},
		"the namespace changes before the agent has seen the work": {
			change: func(c *change) {
				c.before.Status = workv1.ManifestWorkStatus{}
				c.after = rendered(t, in("new").Obj())
				c.after.Generation = 2
			},
			want: []string{"waits", "waits-for-the-other"}},
	} {
		t.Run(title, func(t *testing.T) {
			before := rendered(t, in("old").Obj())
			before.Generation, before.Status = 1, reportFrom("old").Obj()
			c := &change{before: before, after: before.DeepCopy()}
			tc.change(c)
			if got := c.wakes(t, &Reconciler{Client: hub}); !slices.Equal(got, tc.want) {
				t.Errorf("%v are woken, want %v", got, tc.want)
			}
		})
	}
}

func rendered(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func reportFrom(namespace string) *fixture.FeedbackBuilder {
	return fixture.Feedback(work.Identifier(fixture.Application("guestbook").Annotation(apis.AnnotationAppNamespace, namespace).Obj()))
}

// change is a change of a work: before is nil for a new work, and after is nil for a deleted work.
type change struct{ before, after *workv1.ManifestWork }

// wakes returns the namespaces, on the hub, of the waiting Applications queued by the change.
func (c *change) wakes(t *testing.T, r *Reconciler) (namespaces []string) {
	t.Helper()
	counts, works := targetFreed(), []*workv1.ManifestWork{c.before, c.after}
	switch {
	case c.before == nil && !counts.Create(event.CreateEvent{Object: c.after}),
		c.after == nil && !counts.Delete(event.DeleteEvent{Object: c.before}),
		c.before != nil && c.after != nil && !counts.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}):
		return nil
	}
	for _, w := range works {
		if w == nil {
			continue
		}
		for _, req := range r.waitingFor(t.Context(), w) {
			namespaces = append(namespaces, req.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

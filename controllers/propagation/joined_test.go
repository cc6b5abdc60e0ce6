package propagation

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// hubWith has works and no Applications; its cluster "paused" is paused. It remembers for which clusters it was written.
type hubWith struct {
	client.Client
	works   []workv1.ManifestWork
	written []string
}

func (h *hubWith) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c, is := obj.(*clusterv1.ManagedCluster); is {
		c.Name, c.Annotations = key.Name, map[string]string{apis.AnnotationPaused: "true"}
		if key.Name != "paused" {
			c.Annotations = nil
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (h *hubWith) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if l, is := list.(*workv1.ManifestWorkList); is {
		l.Items = h.works
	}
	return nil
}

func (h *hubWith) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	h.written = append(h.written, obj.GetNamespace())
	return nil
}

// TestAClusterThatCannotGoOnKeepsNoOther from losing an Application, or being left with it.
func TestAClusterThatCannotGoOnKeepsNoOther(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers(apis.FinalizerResources).Obj()
	for title, do := range map[string]func(*Reconciler, []workv1.ManifestWork) error{
		"removed": func(r *Reconciler, _ []workv1.ManifestWork) error {
			return r.removeOrphans(t.Context(), client.ObjectKeyFromObject(app))
		},
		"released while it is there": func(r *Reconciler, _ []workv1.ManifestWork) error {
			return problemOr(r.releaseAll(t.Context(), app))
		},
		"released": func(r *Reconciler, works []workv1.ManifestWork) error {
			_, err := r.release(t.Context(), nil, works)
			return err
		},
		"moved": func(r *Reconciler, _ []workv1.ManifestWork) error {
			current := &workv1.ManifestWork{}
			current.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}
			here := app.DeepCopy()
			here.Finalizers = nil // what the others have is to stay there, so their works are written first
			_, err := r.removeStale(t.Context(), here, current)
			return err
		},
	} {
		t.Run(title, func(t *testing.T) {
			hub := &hubWith{}
			for _, cluster := range []string{"paused", "changed", "other"} {
				there := app.DeepCopy()
				there.Annotations[apis.AnnotationCluster] = cluster
				w, err := work.Render(there, work.Requests{})
				if err != nil {
					t.Fatal(err)
				}
				w.Finalizers = []string{workv1.ManifestWorkFinalizer}
				hub.works = append(hub.works, *w)
			}
			hub.works[1].Spec.Workload.Manifests[0].Raw = []byte("changed")
			r := &Reconciler{Client: hub, Live: hub, Pauses: &pause.Reader{Reader: hub}, AfterRestore: AfterRestoreDelete}
			if p, is := errors.AsType[*Problem](do(r, hub.works)); is && p.cause != nil {
				t.Errorf("the paused one is looked at again before its pause ends: %v", p.cause)
			}
			if !slices.Contains(hub.written, "other") || slices.Contains(hub.written, "paused") {
				t.Errorf("written for %v", hub.written)
			}
		})
	}
}

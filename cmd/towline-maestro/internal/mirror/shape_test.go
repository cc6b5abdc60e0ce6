package mirror_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
)

// TestAChangeOfTheShape checks an update that Maestro would refuse. The mirror writes a second bundle. The earlier
// bundle is deleted after the agent has applied the second bundle.
func TestAChangeOfTheShape(t *testing.T) {
	w := follow(t, maestrotest.New())
	w.create("a", manifests("x", "one", "two"))
	w.maestro.Report(first, "applied")
	w.eventually("the status is known", func() bool { return w.message() == "applied" })
	_, since := w.mirror.All("", types.NamespacedName{})

	now := w.mustUpdate(manifests("y", "three", "two"))
	if now.Generation != 2 || now.UID != "a" || w.message() != "applied" {
		t.Errorf("%+v", now)
	}
	if got := w.maestro.IDs(); !slices.Equal(got, slices.Sorted(slices.Values([]string{first, second}))) {
		t.Fatalf("bundles %v", got)
	}
	w.eventually("both say the same of what they share", func() bool {
		of := w.maestro.Manifests(first)
		return strings.Contains(string(of[0].Raw), `"x"`) && strings.Contains(string(of[1].Raw), `"y"`)
	})
	w.maestro.Report(first, "the earlier bundle")
	if w.message() != "applied" {
		t.Errorf("the earlier bundle's status is shown: %s", w.message())
	}
	w.maestro.Report(second, "both")
	w.eventually("the earlier bundle is being deleted", func() bool {
		b, err := w.maestro.Get(t.Context(), first)
		return err == nil && !b.Work.DeletionTimestamp.IsZero()
	})
	w.maestro.Removed(first)
	w.maestro.Report(second, "alone")
	w.eventually("the last word is known", func() bool { return w.message() == "alone" })
	if got := w.changes(since); got != "MODIFIED MODIFIED MODIFIED" {
		t.Errorf("watches see %s", got)
	}
	if got := w.mustUpdate(manifests("z", "three", "two")); got.Generation != 3 || w.maestro.Version(second) == 0 {
		t.Errorf("generation %d", got.Generation)
	}
}

// TestAChangeOfTheShapeAndARestart checks that the next process finishes a change of the shape.
func TestAChangeOfTheShapeAndARestart(t *testing.T) {
	m := maestrotest.New()
	w := follow(t, m)
	made := w.create("a", manifests("x", "one"))
	w.mustUpdate(manifests("y", "two"))
	w.stop()
	w.maestro.Report(second, "applied")

	w = follow(t, m)
	now := w.mirror.Known(key)
	if now.Generation != 2 || now.UID != "a" || !now.CreationTimestamp.Equal(&made.CreationTimestamp) {
		t.Errorf("%+v", now.ObjectMeta)
	}
	w.eventually("the earlier bundle is being deleted", func() bool {
		b, err := w.maestro.Get(t.Context(), first)
		return err == nil && !b.Work.DeletionTimestamp.IsZero()
	})
}

// TestAReleaseDuringAChangeOfTheShape checks the deletion of an earlier bundle whose objects must stay on the cluster.
// The bundle is deleted only after the agent has given up the ownership. Otherwise the agent would delete the objects.
// Until then, a deletion of the work is a conflict.
func TestAReleaseDuringAChangeOfTheShape(t *testing.T) {
	for name, deletes := range map[string]bool{"the earlier bundle goes": false, "the work is deleted": true} {
		t.Run(name, func(t *testing.T) {
			m := maestrotest.New()
			w := follow(t, m)
			w.create("a", manifests("x", "one"))
			m.Report(first, "applied")
			w.eventually("the status is known", func() bool { return w.message() == "applied" })
			var late, early atomic.Bool
			m.Hook(maestrotest.Hooks{BeforePublish: func(action cetypes.EventAction) error {
				switch {
				case action == cetypes.DeleteRequestAction && !m.HasApplied(first):
					early.Store(true)
				case action == cetypes.UpdateRequestAction && !late.Load():
					return errors.New("the later bundle is applied first")
				}
				return nil
			}})
			was := w.mirror.Known(key)
			next := was.DeepCopy()
			next.Spec.Workload = manifests("x", "one", "two")
			next.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
			if _, err := w.mirror.Update(t.Context(), was, next); err != nil {
				t.Fatal(err)
			}
			m.Report(second, "both")
			w.eventually("the later bundle is applied", w.isApplied)
			if deletes {
				if _, err := w.mirror.Delete(t.Context(), w.mirror.Known(key)); !apierrors.IsConflict(err) {
					t.Errorf("the agent owns what is to stay: %v", err)
				}
			}
			late.Store(true)
			w.eventually("the earlier bundle says the same", func() bool {
				b, err := m.Get(t.Context(), first)
				return err == nil && b.Work.Spec.DeleteOption != nil
			})
			m.Report(first, "given up")
			w.eventually("the earlier bundle is being deleted", func() bool {
				b, err := m.Get(t.Context(), first)
				return err == nil && !b.Work.DeletionTimestamp.IsZero()
			})
			if early.Load() {
				t.Error("the agent still owned what is to stay")
			}
			if deletes {
				if now, err := w.mirror.Delete(t.Context(), w.mirror.Known(key)); err != nil || now.DeletionTimestamp.IsZero() {
					t.Errorf("%+v, %v", now, err)
				}
			}
		})
	}
}

// TestAWorkGoesWithItsLastBundle checks that a deleted work exists until the agent has removed every bundle of the
// work.
func TestAWorkGoesWithItsLastBundle(t *testing.T) {
	w := follow(t, maestrotest.New())
	w.create("a", manifests("x", "one"))
	now := w.mustUpdate(manifests("y", "two"))
	if _, err := w.mirror.Delete(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	w.maestro.Removed(second)
	w.eventually("the earlier bundle is shown", func() bool {
		known := w.mirror.Known(key)
		return known != nil && !known.DeletionTimestamp.IsZero() && strings.Contains(string(known.Spec.Workload.Manifests[0].Raw), "one")
	})
	w.maestro.Removed(first)
	w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
}

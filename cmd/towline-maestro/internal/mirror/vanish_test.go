package mirror_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// has returns whether Maestro has a bundle.
func (w *world) has(id string) bool { return slices.Contains(w.maestro.IDs(), id) }

// TestARowThatNobodyHasDeleted checks a row removed without a deletion of the work, for example after a false report by
// the agent of a different cluster. The mirror restores the row with the same content. Watches of works see no
// deletion.
func TestARowThatNobodyHasDeleted(t *testing.T) {
	for name, vanish := range map[string]func(w *world){
		"Maestro tells": func(w *world) { w.maestro.Removed(first) },
		"Maestro tells of another version": func(w *world) {
			said := w.maestro.Removed(first).Clone()
			said.SetExtension(cetypes.ExtensionResourceVersion, 3)
			w.maestro.Tell(&said)
		},
		"Maestro tells before it removes the row": func(w *world) {
			backup := w.maestro.Backup()
			event := w.maestro.Removed(first)
			w.maestro.Restore(backup)
			w.maestro.Tell(event)
			w.maestro.Drop(first)
		},
		"a list lacks it": func(w *world) {
			w.maestro.Drop(first)
			w.maestro.Cut()
		},
		"it is read": func(w *world) {
			w.maestro.Drop(first)
			if got, err := w.mirror.Get(w.Context(), key); err != nil || got == nil {
				w.Errorf("%+v, %v", got, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(t)
			version := w.maestro.Version(first)
			_, since := w.mirror.All("", types.NamespacedName{})
			vanish(w)
			w.eventually("the row is there again", func() bool { return w.has(first) })
			if got := w.maestro.Version(first); got <= version {
				t.Errorf("version %d after %d: agents take the row for old news", got, version)
			}
			if got := string(w.maestro.Manifests(first)[0].Raw); !strings.Contains(got, `"x"`) {
				t.Errorf("the row has %s", got)
			}
			known := w.mirror.Known(key)
			if known == nil || known.UID != "a" || known.Generation != 1 || w.message() != "applied" {
				t.Errorf("%+v", known)
			}
			if got := w.changes(since); strings.Contains(got, "DELETED") {
				t.Errorf("watches see %s", got)
			}
			noDeletion(w)
		})
	}
}

// TestAnIDThatAStrangerKnows checks a restored row whose id a stranger knows. After the agent has applied the restored
// row, the work gets a new id, and the row with the known id is deleted.
func TestAnIDThatAStrangerKnows(t *testing.T) {
	w := delivered(t)
	w.maestro.Removed(first)
	w.eventually("the row is there again", func() bool { return w.has(first) })
	w.maestro.Report(first, "applied again")
	w.eventually("the work has another id", func() bool { return w.has(second) })
	w.maestro.Report(second, "under another id")
	expectDeletion(w, first)
	w.maestro.Removed(first)
	w.eventually("the agent is heard", func() bool { return w.message() == "under another id" })
	if known := w.mirror.Known(key); known.UID != "a" || known.Generation != 1 {
		t.Errorf("%+v", known)
	}
}

// expectDeletion waits until Maestro has a deletion request for a bundle.
func expectDeletion(w *world, id string) {
	w.Helper()
	w.eventually("the bundle is being deleted", func() bool {
		b, err := w.maestro.Get(w.Context(), id)
		return err == nil && !b.Work.DeletionTimestamp.IsZero()
	})
}

// public is the work's id from an earlier version of Towline. Every reader can compute the id.
var public = bundle.PublicName(source, key, 0)

// ofAnEarlierVersion returns a Maestro with a work written by an earlier version of Towline, and applied by the agent.
func ofAnEarlierVersion(t *testing.T) *maestrotest.Maestro {
	t.Helper()
	m := maestrotest.New()
	old := bundle.New(ids, aWork("a", manifests("x", "one")), time.Now())
	old.ID = public
	event, err := bundle.Event(source, cetypes.CreateRequestAction, old)
	if err := errors.Join(err, m.AddCluster(t.Context(), key.Namespace), m.Publish(t.Context(), event)); err != nil {
		t.Fatal(err)
	}
	m.Report(public, "applied")
	return m
}

// TestAnUpgradeGivesSecretIDs checks that a work from an earlier version survives the upgrade. The old row stays until
// the agent has applied the work under a secret id.
func TestAnUpgradeGivesSecretIDs(t *testing.T) {
	m := ofAnEarlierVersion(t)
	w := follow(t, m)
	w.eventually("the work has another id", func() bool { return w.has(second) })
	if known := w.mirror.Known(key); known.UID != "a" || known.Generation != 1 || !w.isApplied() {
		t.Errorf("%+v", known)
	}
	if _, err := w.mirror.Create(t.Context(), aWork("b", manifests("x", "one"))); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the name is taken: %v", err)
	}
	m.Report(public, "heard again")
	w.mustUpdate(manifests("y", "one"))
	w.eventually("both say the same", func() bool { return strings.Contains(string(m.Manifests(public)[0].Raw), `"y"`) })
	noDeletion(w)
	m.Report(second, "under another id")
	expectDeletion(w, public)
	m.Removed(public)
	m.Report(second, "alone")
	w.eventually("the last word is known", func() bool { return w.message() == "alone" })
	if known := w.mirror.Known(key); known.UID != "a" || known.Generation != 2 || !w.isApplied() {
		t.Errorf("%+v", known)
	}
}

// TestAnUpgradeAndARestart checks that the next process finishes the change of the id.
func TestAnUpgradeAndARestart(t *testing.T) {
	m := ofAnEarlierVersion(t)
	w := follow(t, m)
	w.eventually("the work has another id", func() bool { return w.has(second) })
	w.stop()
	w = follow(t, m)
	noDeletion(w)
	m.Report(second, "under another id")
	expectDeletion(w, public)
	if got := m.IDs(); len(got) != 2 {
		t.Errorf("bundles %v", got)
	}
}

// TestAMigrationMovesNothing checks that a quiet mirror gives no work a new id: agents may not fetch the works yet.
func TestAMigrationMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ofAnEarlierVersion(t)
		follow(t, m, func(quiet *mirror.Mirror) { quiet.Quiet = true })
		pass(time.Hour)
		if got := m.IDs(); !slices.Equal(got, []string{public}) {
			t.Errorf("bundles %v", got)
		}
	})
}

// TestRepeatedRestoresBecomeRarer checks a cluster that removes its own rows repeatedly. The restores become rarer and
// rarer.
func TestRepeatedRestoresBecomeRarer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := delivered(t)
		var written atomic.Int32
		w.maestro.Hook(maestrotest.Hooks{AfterPublish: func(action cetypes.EventAction) error {
			if action == cetypes.CreateRequestAction {
				written.Add(1)
				w.maestro.Removed(first)
			}
			return nil
		}})
		w.maestro.Removed(first)
		pass(time.Hour)
		if n := written.Load(); n < 15 || n > 30 {
			t.Errorf("written again %d times within an hour", n)
		}
		if w.mirror.Known(key) == nil {
			t.Error("the work is shown as deleted")
		}
	})
}

// TestAnOwnDeletionIsNoLoss checks that the mirror does not restore a deleted work, however the row vanishes, and
// whatever Maestro answers.
func TestAnOwnDeletionIsNoLoss(t *testing.T) {
	for name, after := range map[string]func(w *world) error{
		"the agent is quick":   func(w *world) error { w.maestro.Removed(first); return nil },
		"the answer is lost":   func(w *world) error { w.maestro.Removed(first); return errors.New("the connection has ended") },
		"Maestro says nothing": func(w *world) error { w.maestro.Drop(first); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := delivered(t)
			w.maestro.Hook(maestrotest.Hooks{AfterPublish: func(action cetypes.EventAction) error {
				if action == cetypes.DeleteRequestAction {
					return after(w)
				}
				return nil
			}})
			if _, err := w.mirror.Delete(t.Context(), w.mirror.Known(key)); err != nil {
				t.Error(err)
			}
			w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
			w.maestro.Cut()
			w.create("b", manifests("x", "one"))
			if got := w.maestro.Published(); !slices.Equal(got, []cetypes.EventAction{
				cetypes.CreateRequestAction, cetypes.DeleteRequestAction, cetypes.CreateRequestAction,
			}) {
				t.Errorf("writes: %v", got)
			}
		})
	}
}

// TestAFollowerRestoresNoRow checks that a process without the permission to write restores no row. The leading
// process restores the row.
func TestAFollowerRestoresNoRow(t *testing.T) {
	w := delivered(t)
	w.mirror.MayWrite = func() error { return errors.New("another one leads") }
	w.maestro.Drop(first)
	if _, err := w.mirror.Get(t.Context(), key); err == nil {
		t.Error("the work is there no more, and not again")
	}
	if w.has(first) || w.mirror.Known(key) == nil {
		t.Errorf("bundles %v, the work is %+v", w.maestro.IDs(), w.mirror.Known(key))
	}
}

// TestALostLaterBundle checks a work with two bundles, of which Maestro loses the later bundle. The mirror
// restores the later bundle. The earlier bundle is deleted after the agent has applied the later bundle.
func TestALostLaterBundle(t *testing.T) {
	w := delivered(t)
	w.mustUpdate(manifests("y", "two"))
	w.maestro.Drop(second)
	if got, err := w.mirror.Get(t.Context(), key); err != nil || got.Spec.Workload.Manifests == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if !w.has(second) {
		t.Errorf("bundles %v", w.maestro.IDs())
	}
	w.maestro.Report(second, "both")
	w.eventually("the later bundle is applied", w.isApplied)
	expectDeletion(w, first)
}

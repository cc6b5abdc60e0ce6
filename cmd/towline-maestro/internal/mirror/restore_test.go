package mirror_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
)

// TestALostWriteIsRepeated checks that the mirror repeats a write confirmed and lost by Maestro, with a version that
// no agent has seen.
func TestALostWriteIsRepeated(t *testing.T) {
	for name, notice := range map[string]func(w *world){
		"a status tells":  func(w *world) { w.maestro.Report(first, "of the earlier spec") },
		"a list shows it": func(w *world) { w.maestro.Cut() },
		"it is read": func(w *world) {
			if _, err := w.mirror.Get(w.Context(), key); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := follow(t, maestrotest.New())
			w.create("a", manifests("x", "one"))
			backup := w.maestro.Backup()
			w.mustUpdate(manifests("y", "one"))
			w.mustUpdate(manifests("z", "one"))
			lost := w.maestro.Version(first)
			w.maestro.Restore(backup)
			notice(w)
			w.eventually("it is written again", func() bool { return w.maestro.Version(first) > lost })
			if got := string(w.maestro.Manifests(first)[0].Raw); !strings.Contains(got, `"z"`) {
				t.Errorf("%s", got)
			}
			w.eventually("the mirror has it", func() bool {
				known := w.mirror.Known(key)
				return known.Generation == 3 && strings.Contains(string(known.Spec.Workload.Manifests[0].Raw), `"z"`)
			})
			w.maestro.Report(first, "of the spec that was lost")
			w.eventually("the status is known", func() bool { return w.message() == "of the spec that was lost" })
			if !w.isApplied() {
				t.Errorf("%+v", w.mirror.Known(key))
			}
		})
	}
}

// TestAnInterruptedRepeatOfAWrite checks that the next process finishes the interrupted repeat of a write.
func TestAnInterruptedRepeatOfAWrite(t *testing.T) {
	m := maestrotest.New()
	w := follow(t, m)
	w.create("a", manifests("x", "one"))
	backup := m.Backup()
	for _, word := range []string{"u", "v", "y", "z"} {
		w.mustUpdate(manifests(word, "one"))
	}
	lost := m.Version(first)
	m.Restore(backup)
	var writes atomic.Int32
	m.Hook(maestrotest.Hooks{BeforePublish: func(cetypes.EventAction) error {
		if writes.Add(1) > 2 {
			return errors.New("the process ends")
		}
		return nil
	}})
	if _, err := w.mirror.Get(t.Context(), key); err == nil {
		t.Fatal("the bundle is to be written again")
	}
	w.stop()
	m.Hook(maestrotest.Hooks{})
	if m.Version(first) >= lost {
		t.Fatal("it was not interrupted")
	}
	w = follow(t, m)
	w.eventually("it is written again", func() bool { return m.Version(first) > lost })
	m.Report(first, "applied")
	w.eventually("it is applied", w.isApplied)
	if known := w.mirror.Known(key); known.Generation != 5 {
		t.Errorf("generation %d", known.Generation)
	}
}

// TestARestoreOfTheDatabase checks a restore of the database. The mirror deletes no work because of a missing row or an
// extra row. The owners of the works see the difference, and decide.
func TestARestoreOfTheDatabase(t *testing.T) {
	t.Run("the work is younger than the backup", func(t *testing.T) {
		w := follow(t, maestrotest.New())
		backup := w.maestro.Backup()
		w.create("a", manifests("x", "one"))
		w.maestro.Restore(backup)
		w.maestro.Cut()
		w.eventually("it is there again", func() bool { return w.has(first) })
		if known := w.mirror.Known(key); known == nil || known.UID != "a" {
			t.Errorf("%+v", known)
		}
		noDeletion(w)
	})
	t.Run("the deletion is younger than the backup", func(t *testing.T) {
		w := follow(t, maestrotest.New())
		made := w.create("a", manifests("x", "one"))
		backup := w.maestro.Backup()
		if _, err := w.mirror.Delete(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		w.maestro.Restore(backup)
		w.maestro.Cut()
		w.eventually("it is not being deleted", func() bool { return w.mirror.Known(key).DeletionTimestamp.IsZero() })
	})
	t.Run("the mirror was started after it", func(t *testing.T) {
		m := maestrotest.New()
		w := follow(t, m)
		w.create("a", manifests("x", "one"))
		backup := w.maestro.Backup()
		w.mustUpdate(manifests("y", "one"))
		w.stop()
		m.Restore(backup)
		w = follow(t, m)
		if known := w.mirror.Known(key); known.Generation != 1 {
			t.Errorf("generation %d", known.Generation)
		}
		w.mustUpdate(manifests("y", "one"))
		noDeletion(w)
	})
}

func noDeletion(w *world) {
	w.Helper()
	for _, action := range w.maestro.Published() {
		if action == cetypes.DeleteRequestAction {
			w.Errorf("a deletion was asked for")
		}
	}
}

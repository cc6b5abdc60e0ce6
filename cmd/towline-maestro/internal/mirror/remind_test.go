package mirror_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// pass lets a time pass, in which nobody but the mirror does anything. Within a bubble of synctest it takes none.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestAnAgentThatDoesNotAnswer is asked again, less and less often, until it has applied the work or removed it. Nobody who watches works
// sees anything of that.
func TestAnAgentThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := maestrotest.New()
		w := follow(t, m)
		asked := func(action cetypes.EventAction) int {
			return len(slices.DeleteFunc(m.Published(), func(a cetypes.EventAction) bool { return a != action }))
		}
		w.create("a", manifests("x", "one"))
		_, created := w.mirror.All("", key)
		pass(9 * time.Second)
		if n := asked(cetypes.UpdateRequestAction); n > 0 {
			t.Errorf("asked again %d times within 9 s", n)
		}
		pass(2 * time.Second)
		if n := asked(cetypes.UpdateRequestAction); n != 1 {
			t.Errorf("asked again %d times within 11 s", n)
		}
		pass(time.Hour)
		if n := asked(cetypes.UpdateRequestAction); n < 8 || n > 10 {
			t.Errorf("asked again %d times within an hour", n)
		}
		if got := w.changes(created); got != "" {
			t.Errorf("watches see %s", got)
		}
		m.Report(first, "applied")
		w.eventually("it is applied", w.isApplied)
		known := w.mirror.Known(key)
		if known.Generation != 1 {
			t.Errorf("generation %d", known.Generation)
		}
		before := asked(cetypes.UpdateRequestAction)
		pass(2 * time.Hour)
		if n := asked(cetypes.UpdateRequestAction) - before; n > 0 {
			t.Errorf("asked again %d times after the answer", n)
		}

		if _, err := w.mirror.Delete(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		pass(11 * time.Second)
		if n := asked(cetypes.DeleteRequestAction); n != 2 {
			t.Errorf("the removal was asked for %d times", n)
		}
		m.Removed(first)
		w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
		pass(time.Hour)
		if n := asked(cetypes.DeleteRequestAction); n != 2 {
			t.Errorf("the removal was asked for %d times, also after it", n)
		}
	})
}

// TestAnAgentThatHasForgottenASpec: it still has the spec before, and says nothing more. When it is asked again, it applies the last one.
func TestAnAgentThatHasForgottenASpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := maestrotest.New()
		w := follow(t, m)
		w.create("a", manifests("x", "one"))
		m.Report(first, "applied")
		w.eventually("it is applied", w.isApplied)
		w.mustUpdate(manifests("y", "one"))
		version := m.Version(first)
		pass(11 * time.Second)
		if m.Version(first) != version+1 || w.isApplied() {
			t.Errorf("version %d after %d", m.Version(first), version)
		}
		now := w.mustUpdate(manifests("z", "one")) // who has read the work before may still write it
		m.Report(first, "applied again")
		w.eventually("it is applied", w.isApplied)
		if now.Generation != 3 {
			t.Errorf("generation %d", now.Generation)
		}
	})
}

// TestWhoMayNotWriteAsksNobody: once it may, it asks at once.
func TestWhoMayNotWriteAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := maestrotest.New()
		var follows atomic.Bool
		w := follow(t, m, func(m *mirror.Mirror) {
			m.MayWrite = func() error {
				if follows.Load() {
					return errors.New("another process leads")
				}
				return nil
			}
		})
		w.create("a", manifests("x", "one"))
		follows.Store(true)
		pass(time.Hour)
		if n := len(m.Published()); n != 1 {
			t.Errorf("%d writes", n)
		}
		follows.Store(false)
		pass(11 * time.Second)
		if n := len(m.Published()); n != 2 {
			t.Errorf("%d writes", n)
		}
	})
}

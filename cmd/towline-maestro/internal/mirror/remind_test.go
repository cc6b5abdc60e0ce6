package mirror_test

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// pass waits for a time, with no activity except the mirror's. In a bubble of synctest, the wait takes no real time.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestAnAgentThatDoesNotAnswer checks that the mirror sends reminders to a silent agent, less and less often, until the
// agent has applied or removed the work. Watches of works see no change from a reminder.
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
		_, deleted := w.mirror.All("", key)
		pass(11 * time.Second)
		if got := w.changes(deleted); got != "" {
			t.Errorf("watches see %s", got)
		}
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

// TestAnAgentThatHasForgottenASpec checks an agent that keeps the earlier spec, and sends no status. After a reminder,
// the agent applies the last spec.
func TestAnAgentThatHasForgottenASpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := delivered(t)
		m := w.maestro
		w.mustUpdate(manifests("y", "one"))
		version := m.Version(first)
		pass(11 * time.Second)
		if m.Version(first) != version+1 || w.isApplied() {
			t.Errorf("version %d after %d", m.Version(first), version)
		}
		m.Report(first, "applied again")
		w.eventually("it is applied", w.isApplied)
		now := w.mustUpdate(manifests("z", "one")) // a reminder does not raise the generation
		if now.Generation != 3 {
			t.Errorf("generation %d", now.Generation)
		}
	})
}

// TestAFollowerSendsNoReminders checks that a process without the permission to write sends no reminders. After the
// process gets the permission, the reminder follows within ten seconds.
func TestAFollowerSendsNoReminders(t *testing.T) {
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

// TestAReminderThatCannotBeSent checks that a failed reminder follows within some ten seconds after the end of
// Maestro's outage, however long the outage is.
func TestAReminderThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, maestrotest.New())
		w.create("a", manifests("x", "one"))
		w.maestro.Hook(maestrotest.Hooks{BeforePublish: func(cetypes.EventAction) error { return status.Error(codes.Unavailable, "no connection") }})
		pass(time.Hour)
		w.maestro.Hook(maestrotest.Hooks{})
		before := len(w.maestro.Published())
		pass(11 * time.Second)
		if n := len(w.maestro.Published()) - before; n != 1 {
			t.Errorf("%d writes", n)
		}
	})
}

// TestAReminderAboutAnEarlierWork checks that the mirror sends no reminder about a deleted work to the next work of the
// same name.
func TestAReminderAboutAnEarlierWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := maestrotest.New()
		w := follow(t, m)
		made := w.create("a", manifests("x", "one"))
		if _, err := w.mirror.Delete(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		m.Removed(first)
		w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
		w.create("b", manifests("x", "one"))
		m.Report(first, "applied")
		w.eventually("it is applied", w.isApplied)
		before := len(m.Published())
		pass(time.Hour)
		if n := len(m.Published()) - before; n > 0 {
			t.Errorf("%d writes", n)
		}
	})
}

// createMany creates works with the names prefix0, prefix1 and further numbers. createMany returns the ids of the
// bundles.
func (w *world) createMany(t *testing.T, many int, prefix string) (made []string) {
	t.Helper()
	for i := range many {
		other := aWork(types.UID(strconv.Itoa(i)), manifests("x", "one"))
		other.Name = prefix + strconv.Itoa(i)
		if _, err := w.mirror.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		made = append(made, ids.Of(types.NamespacedName{Namespace: key.Namespace, Name: other.Name}, 0))
	}
	return made
}

// TestRemindersForManyWorks checks that the mirror sends a few reminders a second, and that a new work does not wait
// for all earlier works.
func TestRemindersForManyWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, maestrotest.New())
		w.createMany(t, 1000, "away-")
		pass(20 * time.Second)
		if n := len(w.maestro.Published()) - 1000; n < 40 || n > 55 {
			t.Errorf("asked again %d times within ten seconds", n)
		}
		w.create("a", manifests("x", "one"))
		version := w.maestro.Version(first)
		pass(11 * time.Second)
		if w.maestro.Version(first) != version+1 {
			t.Error("it waits for the others")
		}
	})
}

// TestASlowMaestro checks a Maestro with 15 answers a second, where most answers come late. The mirror sends
// fewer reminders, but still sends a lost work again.
func TestASlowMaestro(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, lost, rate = 900, 450, 15
		w := follow(t, maestrotest.New())
		ids := w.createMany(t, many, "slow-")
		version := w.maestro.Version(ids[lost])
		for i, id := range ids {
			if i != lost {
				w.maestro.Report(id, "applied")
			}
			if i%rate == rate-1 {
				pass(time.Second)
			}
		}
		if n := len(w.maestro.Published()) - many; n > 30 {
			t.Errorf("asked again %d times within a minute", n)
		}
		pass(5 * time.Second)
		if w.maestro.Version(ids[lost]) == version {
			t.Error("what was lost is not sent again")
		}
	})
}

// TestALostBurst checks that the mirror sends a lost burst again at the full pace. An answer after a reminder is
// not late.
func TestALostBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		w := follow(t, maestrotest.New())
		ids := map[string]int64{}
		for _, id := range w.createMany(t, many, "lost-") {
			ids[id] = w.maestro.Version(id)
		}
		for range 55 {
			pass(time.Second)
			for id, version := range ids {
				if w.maestro.Version(id) > version {
					w.maestro.Report(id, "applied")
					delete(ids, id)
				}
			}
		}
		if len(ids) > 0 {
			t.Errorf("%d of %d are not sent again", len(ids), many)
		}
	})
}

// TestAQuietMirror checks that a quiet mirror sends no reminders.
func TestAQuietMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, maestrotest.New(), func(m *mirror.Mirror) { m.Quiet = true })
		w.create("a", manifests("x", "one"))
		pass(time.Hour)
		if n := len(w.maestro.Published()); n != 1 {
			t.Errorf("%d writes", n)
		}
	})
}

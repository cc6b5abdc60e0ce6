package mirror_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
)

// TestAMaestroThatRefuses is asked ever more seldom, and followed within some ten seconds when it accepts again. A short outage costs no
// more time than it has taken, and the next one begins anew.
func TestAMaestroThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := delivered(t)
		var asked, listed atomic.Int32
		refuse := func() {
			w.maestro.Hook(maestrotest.Hooks{
				BeforeSubscribe: func() error {
					asked.Add(1)
					return status.Error(codes.Unknown, "token not authenticated")
				},
				BeforeList: func(time.Time) error {
					listed.Add(1)
					return nil
				},
			})
			w.maestro.Cut()
		}
		// arrives tells whether what agents say is known within a time.
		arrives := func(word string, within time.Duration) {
			t.Helper()
			w.maestro.Hook(maestrotest.Hooks{})
			pass(within)
			w.maestro.Report(first, word)
			synctest.Wait()
			if got := w.message(); got != word {
				t.Errorf("%q is known %s after Maestro accepts again, and not %q", got, within, word)
			}
		}
		for _, outage := range []time.Duration{time.Hour, 5 * time.Second} {
			asked.Store(0)
			listed.Store(0)
			refuse()
			pass(outage)
			least, most := int32(outage/(12*time.Second)), int32(outage/(10*time.Second))+4
			if n := asked.Load(); n < max(least, 2) || n > most {
				t.Errorf("asked %d times within %s, want between %d and %d", n, outage, least, most)
			}
			if n := listed.Load(); n > most {
				t.Errorf("all works were listed %d times within %s", n, outage)
			}
			arrives("after "+outage.String(), min(outage, 12*time.Second))
		}
	})
}

// TestASubscriptionThatHeld is followed by the next after a second, however many have ended before it.
func TestASubscriptionThatHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := delivered(t)
		for range 20 {
			pass(time.Minute)
			w.maestro.Cut()
		}
		pass(1300 * time.Millisecond)
		w.maestro.Report(first, "again")
		synctest.Wait()
		if got := w.message(); got != "again" {
			t.Errorf("%q is known", got)
		}
	})
}

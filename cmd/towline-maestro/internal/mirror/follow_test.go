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

// TestAMaestroThatRefusesSubscriptions checks the retries at a Maestro that refuses subscriptions. The retries become
// rarer, and the mirror follows within some ten seconds after Maestro accepts again. A short outage costs at most as
// much extra time as the outage itself, and the next outage starts with short pauses again.
func TestAMaestroThatRefusesSubscriptions(t *testing.T) {
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
		// arrives checks that the mirror knows an agent's message within a time.
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

// TestAnAcceptedSubscriptionResetsThePause checks that after a successful subscription, the next subscription follows
// after a second, however many subscriptions have ended before.
func TestAnAcceptedSubscriptionResetsThePause(t *testing.T) {
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

// TestPaceOfListsOfAllWorks checks that the mirror reads all works every five minutes. The reads are rarer if they
// would take more than a twentieth of the time. The mirror reads the changed works every five minutes in any case.
func TestPaceOfListsOfAllWorks(t *testing.T) {
	for _, tc := range []struct {
		takes                 time.Duration
		leastWhole, mostWhole int32
	}{
		{time.Second, 33, 37},
		{time.Minute, 8, 9}, // every 20 minutes, rounded up to the next list of changes
		{5 * time.Minute, 1, 2},
	} {
		t.Run(tc.takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := delivered(t)
				var whole, changes atomic.Int32
				w.maestro.Hook(maestrotest.Hooks{BeforeList: func(since time.Time) error {
					if !since.IsZero() {
						changes.Add(1)
						return nil
					}
					whole.Add(1)
					<-time.After(tc.takes)
					return nil
				}})
				w.maestro.Cut() // the next subscription lists with the hook
				for range 360 {
					pass(30 * time.Second)
					w.maestro.Report(first, "here") // keeps Maestro from counting as silent
				}
				if n := whole.Load(); n < tc.leastWhole || n > tc.mostWhole {
					t.Errorf("all were read %d times in three hours, want %d to %d", n, tc.leastWhole, tc.mostWhole)
				}
				if all := whole.Load() + changes.Load(); all < 30 || all > 38 {
					t.Errorf("something was read %d times in three hours", all)
				}
			})
		})
	}
}

// TestAListThatFails checks the pause after a failed list. The mirror lists changes again after a second. The mirror
// lists all works again after a pause as long as the failed list.
func TestAListThatFails(t *testing.T) {
	for title, tc := range map[string]struct {
		whole       bool
		least, most int32
	}{
		"of all":     {true, 5, 6},      // every two minutes: a minute for the list, and a minute of pause
		"of changes": {false, 235, 541}, // every second, from Maestro's first message or from the next five minutes on
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := delivered(t)
				var failed, others atomic.Int32
				w.maestro.Hook(maestrotest.Hooks{BeforeList: func(since time.Time) error {
					if since.IsZero() {
						<-time.After(time.Minute)
					}
					if since.IsZero() != tc.whole {
						others.Add(1)
						return nil
					}
					failed.Add(1)
					return status.Error(codes.Unavailable, "connection refused")
				}})
				w.maestro.Cut() // the next subscription lists with the hook
				for range 20 {
					pass(30 * time.Second)
					w.maestro.Report(first, "here") // keeps Maestro from counting as silent
				}
				if n := failed.Load(); n < tc.least || n > tc.most || others.Load() > 1 {
					t.Errorf("failed %d times in ten minutes, want %d to %d; besides, %d others were read", n, tc.least, tc.most, others.Load())
				}
			})
		})
	}
}

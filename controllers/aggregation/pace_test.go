package aggregation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestCost(t *testing.T) {
	tests := map[string]struct {
		size, busy int
		took, want time.Duration
	}{
		"small":                          {1000, 1, time.Millisecond, minCost},
		"large":                          {3 << 18, 1, time.Millisecond, 500 * time.Millisecond},
		"slow":                           {1000, 1, 200 * time.Millisecond, 300 * time.Millisecond},
		"one of many":                    {1000, 10, 200 * time.Millisecond, 2 * time.Second},
		"an API server that hardly does": {1000, 100, time.Minute, maxCost},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := cost(tc.size, tc.took, tc.busy); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	app := types.NamespacedName{Name: "a"}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := map[string]struct {
		set  func(*set)
		want time.Duration
	}{
		"first change":                {func(s *set) { s.mark(now, app) }, settle},
		"a change that others follow": {func(s *set) { s.mark(ago(30*time.Millisecond), app); s.mark(now, app) }, settle - 30*time.Millisecond},
		"settled":                     {func(s *set) { s.mark(ago(settle), app) }, 0},
		"written just now":            {func(s *set) { s.pay(now, credit); s.mark(ago(settle), app) }, 0},
		"written again and again": {func(s *set) {
			for range 10 {
				s.pay(now, minCost)
			}
			s.mark(ago(settle), app)
		}, 10*minCost - credit},
		"a large one written just now": {func(s *set) { s.pay(now, 2*time.Second); s.mark(ago(settle), app) }, 2*time.Second - credit},
		"paid for by now":              {func(s *set) { s.pay(ago(time.Minute), maxCost); s.mark(ago(settle), app) }, 0},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			s := newSet()
			tc.set(s)
			if got := s.wait(now); max(got, 0) != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	if got := newSet().wait(now); got > 0 {
		t.Errorf("nothing to wait for, and waits %s", got)
	}
}

// TestStorm: under permanent changes, a report is not written faster than bytesPerSecond, except for the credit.
func TestStorm(t *testing.T) {
	const size, length = 1 << 20, time.Minute
	s := newSet()
	start := time.Unix(1_700_000_000, 0)
	writes := 0
	for now := start; now.Sub(start) < length; {
		s.mark(now.Add(-settle), types.NamespacedName{Name: "a"})
		if wait := s.wait(now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		s.take()
		s.pay(now, cost(size, 10*time.Millisecond, 1))
		s.done(now)
		writes++
	}
	if allowed := int(length.Seconds()*bytesPerSecond/size) + 2; writes > allowed || writes < allowed-4 {
		t.Errorf("%d writes in %s, %d are allowed", writes, length, allowed)
	}
}

package aggregation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestWindowGrowsWithTheReport(t *testing.T) {
	for size, want := range map[int]time.Duration{0: minWindow, 1000: minWindow, 3 << 18: 500 * time.Millisecond, 1 << 20: 666666666} {
		if got := window(size); got != want {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
	const perSecond = 2 << 20 // what one report may come to
	for size := 1 << 10; size < 2<<20; size *= 2 {
		if rate := float64(size) / window(size).Seconds(); rate > perSecond {
			t.Errorf("%d bytes are written at %.0f bytes/s", size, rate)
		}
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
		"first change":                 {func(s *set) { s.mark(now, app) }, settle},
		"a change that others follow":  {func(s *set) { s.mark(ago(30*time.Millisecond), app); s.mark(now, app) }, settle - 30*time.Millisecond},
		"settled":                      {func(s *set) { s.mark(ago(settle), app) }, 0},
		"written a moment ago":         {func(s *set) { s.written = ago(time.Millisecond); s.mark(ago(settle), app) }, minWindow - time.Millisecond},
		"a large one written just now": {func(s *set) { s.written, s.size = now, 3<<19; s.mark(ago(settle), app) }, time.Second},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			s := newSet()
			tc.set(s)
			if got := s.wait(now); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	if got := newSet().wait(now); got > 0 {
		t.Errorf("nothing to wait for, and waits %s", got)
	}
}

// TestOldest: a change counts from when it came until it has been written, also while others come.
func TestOldest(t *testing.T) {
	m := &memory{}
	key, app := types.NamespacedName{Name: "set"}, types.NamespacedName{Name: "a"}
	first, second := time.Unix(100, 0), time.Unix(200, 0)
	if !m.oldest().IsZero() {
		t.Error("there is an oldest of none")
	}
	s := m.set(key)
	s.mark(first, app)
	s.take()
	s.mark(second, app)
	if got := m.oldest(); !got.Equal(first) {
		t.Errorf("got %s while the first is being written", got)
	}
	s.done(second)
	if got := m.oldest(); !got.Equal(second) {
		t.Errorf("got %s after the first was written", got)
	}
	if taken := s.take(); len(taken) != 1 {
		t.Errorf("took %v", taken)
	}
	s.done(second)
	if !m.oldest().IsZero() {
		t.Error("something is left")
	}
	m.forget(key)
	if m.set(key) == s {
		t.Error("a forgotten set is remembered")
	}
}

func TestNewer(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{{"2", "1", true}, {"1", "1", false}, {"9", "10", false}, {"x", "1", true}, {"1", "", true}} {
		if got := newer(tc.a, tc.b); got != tc.want {
			t.Errorf("newer(%q, %q) = %t", tc.a, tc.b, got)
		}
	}
}

package aggregation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestOldest: a change counts from its event until the write, even if further changes come.
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
	if got := m.busy(); got != 1 {
		t.Errorf("%d sets are busy", got)
	}
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
	if !m.oldest().IsZero() || m.busy() != 0 {
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

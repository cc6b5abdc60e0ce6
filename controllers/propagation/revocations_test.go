package propagation

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
)

var revoking = delivery.RevocationOptions{Delete: true, Grace: time.Minute, Limit: 2}

func uid(n int) types.UID { return types.UID(fmt.Sprint(n)) }

// TestThePermissionEndsTheGrace: the grace period begins with the first refusal after the last permission.
func TestThePermissionEndsTheGrace(t *testing.T) {
	var m revocations
	begin := time.Now()
	expect := func(after time.Duration, want revocationPhase, wantSince time.Duration) {
		t.Helper()
		got, since := m.judge(keyOf("a"), uid(1), begin.Add(after), revoking)
		if got != want || !since.Equal(begin.Add(wantSince)) {
			t.Errorf("after %s: got %d since %s", after, got, since.Sub(begin))
		}
	}
	expect(0, inGrace, 0)
	expect(59*time.Second, inGrace, 0)
	m.forget(keyOf("a"), uid(1))
	expect(61*time.Second, inGrace, 61*time.Second)
	expect(2*time.Minute, inGrace, 61*time.Second)
	expect(121*time.Second, due, 61*time.Second)
}

// TestTooManyRevocationsAtATime: above the limit, all refused works are held until none is refused any more. Recently
// deleted works count too.
func TestTooManyRevocationsAtATime(t *testing.T) {
	now := time.Now()
	later := now.Add(revoking.Grace)
	judge := func(m *revocations, n int, when time.Time) revocationPhase {
		got, _ := m.judge(keyOf(fmt.Sprint(n)), uid(n), when, revoking)
		return got
	}
	t.Run("at once", func(t *testing.T) {
		var m revocations
		for n := range 3 {
			judge(&m, n, now)
		}
		for n := range 3 {
			if judge(&m, n, later) != tooMany {
				t.Errorf("%d is not held", n)
			}
		}
		m.forget(keyOf("0"), uid(0))
		m.retain(keyOf("1"), nil)
		if judge(&m, 2, later) != tooMany {
			t.Error("the last of many is taken for a few")
		}
		m.forget(keyOf("2"), uid(2))
		if judge(&m, 2, later) != inGrace || judge(&m, 2, later.Add(revoking.Grace)) != due {
			t.Error("it is held though the others had their right back, and so had it")
		}
	})
	t.Run("one after another", func(t *testing.T) {
		var m revocations
		for n := range 2 {
			judge(&m, n, now)
			if judge(&m, n, later) != due {
				t.Errorf("%d is held", n)
			}
			m.noteDeletion(keyOf(fmt.Sprint(n)), uid(n), later)
		}
		if judge(&m, 3, later) != tooMany {
			t.Error("two went just now")
		}
		m.forget(keyOf("3"), uid(3))
		if judge(&m, 3, later.Add(2*revocationWindow)) != inGrace {
			t.Error("those that went long ago are counted")
		}
	})
	t.Run("the same one again", func(t *testing.T) {
		var m revocations
		for range 5 {
			if judge(&m, 1, now) != inGrace {
				t.Error("one is taken for many")
			}
		}
	})
}

// TestRevocationsForgetEndedRevocations: no work stays in the memory after the end of the revocation, for every kind
// of end.
func TestRevocationsForgetEndedRevocations(t *testing.T) {
	var m revocations
	now := time.Now()
	for n := range 10 {
		m.judge(keyOf("a"), uid(n), now, revoking)
	}
	m.forget(keyOf("a"), uid(0))
	m.noteDeletion(keyOf("a"), uid(1), now)
	left := workv1.ManifestWork{}
	left.UID = uid(2)
	m.retain(keyOf("a"), []*workv1.ManifestWork{&left})
	if m.count != 1 {
		t.Errorf("%d are refused", m.count)
	}
	m.retain(keyOf("a"), nil)
	if len(m.refused) != 0 || m.count != 0 || m.stopped {
		t.Errorf("left: %v, %d, %t", m.refused, m.count, m.stopped)
	}
	m.judge(keyOf("b"), uid(20), now.Add(2*revocationWindow), revoking)
	if len(m.deleted) != 0 {
		t.Errorf("%v were asked for long ago", m.deleted)
	}
}

package controllers_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/towline-io/towline/controllers"
)

// lasting is the Towline that goes on after its test, for the next one that begins with the same options: most tests need none
// of their own, and each start takes some tenths of a second. It ends where a test makes something before it starts a Towline,
// or starts another one, and with a test that is unshared.
var lasting struct {
	mu       sync.Mutex
	is       *running // nil while none runs
	options  controllers.Options
	by       *testing.T // the test that it works for; nil between two
	unshared string     // the last test whose Towline is for no other
	barriers [2]barrier // what its tests wait with; the second has something that travels beside it
	failures []error    // with which it ended between two tests: the run fails with them
}

// goOn is the lasting Towline, if it has these options and works for no test yet, which it does then. It ends if it has others.
func goOn(t *testing.T, o controllers.Options) *running {
	t.Helper()
	lasting.mu.Lock()
	r, by, same := lasting.is, lasting.by, reflect.DeepEqual(o, lasting.options)
	lasting.mu.Unlock()
	switch {
	case r == nil || by != nil:
		return nil
	case !same:
		r.endBetween()
		return nil
	}
	r.writes.begin(t.Name())
	r.worksFor(t)
	return r
}

// last makes a Towline the lasting one, which works for this test now.
func (r *running) last(t *testing.T, o controllers.Options) {
	t.Helper()
	stop := r.stop
	r.stop = func() {
		lasting.mu.Lock()
		if lasting.is == r {
			lasting.is, lasting.by = nil, nil
		}
		lasting.mu.Unlock()
		stop()
		for i := range lasting.barriers {
			r.fail(lasting.barriers[i].end())
		}
	}
	lasting.mu.Lock()
	lasting.is, lasting.options = r, o
	lasting.mu.Unlock()
	r.worksFor(t)
}

// worksFor has the lasting Towline work for a test until that ends.
func (r *running) worksFor(t *testing.T) {
	t.Helper()
	lasting.mu.Lock()
	lasting.by = t
	lasting.mu.Unlock()
	t.Cleanup(func() {
		lasting.mu.Lock()
		if lasting.is == r {
			lasting.by = nil
		}
		ends := related(lasting.unshared, t.Name()) || t.Failed()
		lasting.mu.Unlock()
		r.writes.race(nil)
		if ends {
			r.stop()
		}
		r.expectNoFailure(t)
	})
}

// worksForATest tells whether the lasting Towline does.
func worksForATest() bool {
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	return lasting.by != nil
}

// endUnclaimed ends the lasting Towline where it works for no test.
func endUnclaimed() {
	lasting.mu.Lock()
	r, by := lasting.is, lasting.by
	lasting.mu.Unlock()
	if r != nil && by == nil {
		r.endBetween()
	}
}

// endBetween ends a Towline that works for no test, and notes what it failed with.
func (r *running) endBetween() {
	r.stop()
	select {
	case err := <-r.failed:
		lasting.mu.Lock()
		defer lasting.mu.Unlock()
		lasting.failures = append(lasting.failures, err)
	default:
	}
}

// failedBetween is what the lasting ones failed with while they worked for no test.
func failedBetween() error {
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	return errors.Join(lasting.failures...)
}

// TestATowlineThatFailsBetweenTwoTests: its error is not lost.
func TestATowlineThatFailsBetweenTwoTests(t *testing.T) {
	r := &running{failed: make(chan error, 1)}
	r.stop = func() { r.fail(errors.New("the cache did not end")) }
	r.endBetween()
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	if n := len(lasting.failures); n == 0 || !strings.Contains(lasting.failures[n-1].Error(), "did not end") {
		t.Fatalf("noted: %v", lasting.failures)
	}
	lasting.failures = lasting.failures[:len(lasting.failures)-1]
}

// unshared ends the lasting Towline, and has that of this test end with it: another manager runs beside it, or the hub is another.
func unshared(t *testing.T) {
	t.Helper()
	endUnclaimed()
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	lasting.unshared = t.Name()
}

// related tells whether one of two tests is a part of the other, or that one itself.
func related(one, other string) bool { return within(one, other) || within(other, one) }

// within tells whether a test is a part of another, or that one itself.
func within(part, test string) bool { return part == test || strings.HasPrefix(part, test+"/") }

package envtest_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/towline-io/towline/controllers"
)

// lasting is the Towline that continues after its test, for the next test with the same options. Most tests need no
// Towline of their own, and each start takes some tenths of a second. The lasting Towline ends before a test that
// creates objects before its start, or that starts a second Towline. It also ends with an unshared test.
var lasting struct {
	mu       sync.Mutex
	is       *running // nil while no lasting Towline runs
	options  controllers.Options
	by       *testing.T // the current test; nil between two tests
	unshared string     // the last test with an unshared Towline
	barriers [2]barrier // the waiting aids of the tests; the second barrier has a dependency
	failures []error    // the errors between two tests; any error fails the run
}

// goOn returns the lasting Towline for the test t, if its options equal o and no test uses it. If the options differ,
// goOn stops the lasting Towline.
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

// last makes r the lasting Towline, at first for the test t.
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

// worksFor assigns the lasting Towline to a test until the end of the test.
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

// worksForATest reports whether a test uses the lasting Towline.
func worksForATest() bool {
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	return lasting.by != nil
}

// endUnclaimed stops the lasting Towline if no test uses it.
func endUnclaimed() {
	lasting.mu.Lock()
	r, by := lasting.is, lasting.by
	lasting.mu.Unlock()
	if r != nil && by == nil {
		r.endBetween()
	}
}

// endBetween stops an unused Towline, and records its error.
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

// failedBetween returns the errors of lasting Towlines between two tests.
func failedBetween() error {
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	return errors.Join(lasting.failures...)
}

// TestATowlineThatFailsBetweenTwoTests: the error of the failed Towline is not lost.
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

// unshared stops the lasting Towline, and makes Towline end with this test. A test needs unshared if a second manager
// runs in parallel, or if the test changes the hub.
func unshared(t *testing.T) {
	t.Helper()
	endUnclaimed()
	lasting.mu.Lock()
	defer lasting.mu.Unlock()
	lasting.unshared = t.Name()
}

// related reports whether two tests are the same, or one test is a subtest of the second.
func related(one, other string) bool { return within(one, other) || within(other, one) }

// within reports whether part is the name of the test, or the name of a subtest of the test.
func within(part, test string) bool { return part == test || strings.HasPrefix(part, test+"/") }

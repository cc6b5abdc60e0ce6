package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// firstRestore and lastRestore are how long a work waits between two restores of its row, if the row goes again and again: a cluster that
	// removes its own rows must not keep Maestro busy. The first restore does not wait.
	firstRestore, lastRestore = time.Second, 5 * time.Minute

	// removalCounts is how long a deletion that this process has asked for explains why a row is gone, whatever Maestro has answered.
	removalCounts = time.Minute
)

// removals knows why Maestro lacks a row.
type removals struct {
	mu     sync.Mutex
	asked  map[string]time.Time               // when this process asked Maestro last to delete a bundle, by id
	told   map[string]time.Time               // when Maestro said that it removes a bundle
	known  map[string]bool                    // ids that somebody else knows: their rows went without a request
	next   map[types.NamespacedName]time.Time // when a work's row may be written again
	pauses workqueue.TypedRateLimiter[types.NamespacedName]
}

func newRemovals() *removals {
	return &removals{
		asked: map[string]time.Time{}, told: map[string]time.Time{}, known: map[string]bool{}, next: map[types.NamespacedName]time.Time{},
		pauses: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRestore, lastRestore),
	}
}

// ask notes that this process asks for the deletion of a bundle.
func (r *removals) ask(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[id] = time.Now()
}

// wanted tells whether somebody has asked for the removal of a bundle.
func (r *removals) wanted(b *bundle.Bundle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, ok := r.asked[b.ID]
	return !b.Work.DeletionTimestamp.IsZero() || ok && time.Since(asked) < removalCounts
}

// tell notes that Maestro is about to remove a row.
func (r *removals) tell(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[id] = time.Now()
}

// expected tells whether Maestro has said within the last moments that it removes a row.
func (r *removals) expected(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	told, ok := r.told[id]
	if ok && time.Since(told) >= removalEnds {
		delete(r.told, id)
		return false
	}
	return ok
}

// mayRestore tells whether a row of a work may be written again now. It counts the call as one that does.
func (r *removals) mayRestore(b *bundle.Bundle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := b.Name()
	if time.Now().Before(r.next[name]) {
		return false
	}
	r.next[name] = time.Now().Add(r.pauses.When(name))
	r.known[b.ID] = true
	return true
}

// isKnown tells whether somebody else knows the id of a bundle.
func (r *removals) isKnown(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

// forget drops what is noted of a bundle that has gone, and of its work if the bundle was the last one.
func (r *removals) forget(id string, name types.NamespacedName, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asked, id)
	delete(r.told, id)
	delete(r.known, id)
	if last {
		delete(r.next, name)
		r.pauses.Forget(name)
	}
}

package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// firstRestore and lastRestore are the shortest and the longest pause between two restores of a work's row, if the
	// row vanishes repeatedly. A cluster that removes its own rows must not keep Maestro busy. The first restore has no
	// pause.
	firstRestore, lastRestore = time.Second, 5 * time.Minute

	// removalCounts is how long a deletion request of this process explains a missing row, whatever Maestro has
	// answered.
	removalCounts = time.Minute
)

// removals records why a row is missing in Maestro.
type removals struct {
	mu        sync.Mutex
	requested map[string]time.Time               // time of this process's last deletion request for a bundle, by id
	announced map[string]time.Time               // time of Maestro's message about the removal of a bundle, by id
	known     map[string]bool                    // ids known to a stranger: the rows vanished without a request
	next      map[types.NamespacedName]time.Time // earliest time of the next restore of a work's row
	pauses    workqueue.TypedRateLimiter[types.NamespacedName]
}

func newRemovals() *removals {
	return &removals{
		requested: map[string]time.Time{}, announced: map[string]time.Time{}, known: map[string]bool{}, next: map[types.NamespacedName]time.Time{},
		pauses: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRestore, lastRestore),
	}
}

// request notes a deletion request of this process for a bundle.
func (r *removals) request(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested[id] = time.Now()
}

// wanted returns whether the removal of a bundle was requested.
func (r *removals) wanted(b *bundle.Bundle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.requested[b.ID]
	return !b.Work.DeletionTimestamp.IsZero() || ok && time.Since(at) < removalCounts
}

// announce notes Maestro's message about the removal of a row.
func (r *removals) announce(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.announced[id] = time.Now()
}

// expected returns whether Maestro has announced the removal of a row within removalEnds.
func (r *removals) expected(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.announced[id]
	if ok && time.Since(at) >= removalEnds {
		delete(r.announced, id)
		return false
	}
	return ok
}

// mayRestore returns whether a row of a work may be written again now. A true result counts as a restore, and marks the
// id as known to a stranger.
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

// isKnown returns whether a stranger knows the id of a bundle.
func (r *removals) isKnown(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

// forget drops the notes about a removed bundle, and the notes about the work if the bundle was the last bundle of the
// work.
func (r *removals) forget(id string, name types.NamespacedName, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.requested, id)
	delete(r.announced, id)
	delete(r.known, id)
	if last {
		delete(r.next, name)
		r.pauses.Forget(name)
	}
}

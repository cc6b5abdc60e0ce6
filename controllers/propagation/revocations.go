package propagation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
)

// revocationWindow is how long a deleted work counts towards the limit of revocations.
const revocationWindow = 10 * time.Minute

// revocationPhase is the phase of the revocation of a refused work.
type revocationPhase int

const (
	// inGrace: the rule may still be withdrawn.
	inGrace revocationPhase = iota

	// tooMany: too many works have lost their right within the window.
	tooMany

	// due: the work can be deleted now.
	due
)

// revocations are the works refused by a rule. The memory starts empty: after a restart, the grace period of each work
// begins again.
type revocations struct {
	mu      sync.Mutex
	refused map[types.NamespacedName]map[types.UID]time.Time // since when, by hub Application and UID of the work
	deleted map[types.UID]time.Time                          // time of the deletion, within the last window
	count   int                                              // number of refused works
	stopped bool                                             // until no work is refused any more
}

// judge notes the refusal of a work by a rule. It returns the phase of the revocation, and since when the rule refuses
// the work. If the number of refused works, plus the number of works deleted within the window, exceeds the limit, all
// refused works stay until no work is refused.
func (m *revocations) judge(app types.NamespacedName, w types.UID, now time.Time, o delivery.RevocationOptions) (revocationPhase, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, known := m.refused[app][w]
	if !known {
		since = now
		if m.refused == nil {
			m.refused = map[types.NamespacedName]map[types.UID]time.Time{}
		}
		if m.refused[app] == nil {
			m.refused[app] = map[types.UID]time.Time{}
		}
		m.refused[app][w] = now
		m.count++
	}
	for uid, when := range m.deleted {
		if now.Sub(when) > revocationWindow {
			delete(m.deleted, uid)
		}
	}
	m.stopped = m.stopped || m.count+len(m.deleted) > o.Limit
	m.show()
	switch {
	case m.stopped:
		return tooMany, since
	case now.Sub(since) < o.Grace:
		return inGrace, since
	}
	return due, since
}

// noteDeletion notes the deletion of a work by a revocation.
func (m *revocations) noteDeletion(app types.NamespacedName, w types.UID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deleted == nil {
		m.deleted = map[types.UID]time.Time{}
	}
	m.deleted[w] = now
	m.drop(app, func(uid types.UID) bool { return uid == w })
}

// forget drops a work without a refusal.
func (m *revocations) forget(app types.NamespacedName, w types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app, func(uid types.UID) bool { return uid == w })
}

// retain drops the memory of an Application's works, except for the given works.
func (m *revocations) retain(app types.NamespacedName, works []*workv1.ManifestWork) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.refused[app]) == 0 {
		return
	}
	there := make(map[types.UID]bool, len(works))
	for _, w := range works {
		there[w.UID] = true
	}
	m.drop(app, func(uid types.UID) bool { return !there[uid] })
}

// drop removes the selected works of an Application from the refused works. The caller holds the lock.
func (m *revocations) drop(app types.NamespacedName, which func(types.UID) bool) {
	for uid := range m.refused[app] {
		if which(uid) {
			delete(m.refused[app], uid)
			m.count--
		}
	}
	if len(m.refused[app]) == 0 {
		delete(m.refused, app)
	}
	m.stopped = m.stopped && m.count > 0
	m.show()
}

func (m *revocations) show() {
	if m.stopped {
		heldRevocations.Set(float64(m.count))
	} else {
		heldRevocations.Set(0)
	}
}

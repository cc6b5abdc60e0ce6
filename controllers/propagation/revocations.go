package propagation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
)

// revocationWindow is how long the removal of a work counts among those that go at a time.
const revocationWindow = 10 * time.Minute

// revocationPhase is how far a work has come that a rule refuses.
type revocationPhase int

const (
	// inGrace: the rule may be withdrawn.
	inGrace revocationPhase = iota

	// held: too many have lost their right at a time.
	held

	// due: nothing holds its removal.
	due
)

// revocations are the works that a rule refuses. The memory starts empty: after a restart the grace of each begins anew.
type revocations struct {
	mu      sync.Mutex
	refused map[types.NamespacedName]map[types.UID]time.Time // since when, by hub Application
	asked   map[types.UID]time.Time                          // when the deletion was asked for, in the last window
	count   int                                              // of refused works
	braked  bool                                             // until no work is refused any more
}

// judge notes that a rule refuses a work, and tells how far that has come and since when it is so. When more works than
// the limit are refused, or have gone within the window, all that have not gone are held until each has its right back.
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
	for uid, when := range m.asked {
		if now.Sub(when) > revocationWindow {
			delete(m.asked, uid)
		}
	}
	m.braked = m.braked || m.count+len(m.asked) > o.Limit
	m.show()
	switch {
	case m.braked:
		return held, since
	case now.Sub(since) < o.Grace:
		return inGrace, since
	}
	return due, since
}

// ask notes that the deletion of a work has been asked for.
func (m *revocations) ask(app types.NamespacedName, w types.UID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		m.asked = map[types.UID]time.Time{}
	}
	m.asked[w] = now
	m.drop(app, func(uid types.UID) bool { return uid == w })
}

// forget drops a work that no rule refuses any more.
func (m *revocations) forget(app types.NamespacedName, w types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app, func(uid types.UID) bool { return uid == w })
}

// retain drops what is known of an Application's works but for these.
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

// drop takes those of an Application's works from the refused ones.
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
	m.braked = m.braked && m.count > 0
	m.show()
}

func (m *revocations) show() {
	if m.braked {
		heldRevocations.Set(float64(m.count))
	} else {
		heldRevocations.Set(0)
	}
}

package propagation

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/index"
)

const (
	// massLossThreshold is how many Applications may disappear without a deletion event before Towline takes them for
	// lost. Some Applications are normally deleted while Towline is down.
	massLossThreshold = 10

	// lossWindow is how long Towline waits for further missing Applications before the decision about the missing ones.
	// After a start or a broken watch, Towline finds all missing Applications within this time.
	lossWindow = 5 * time.Second
)

// lossDetector tells the deletion of an Application apart from the loss of an Application. A hub restored from an
// older backup has lost Applications without a deletion, and their workloads must stay on the clusters. The API
// server's watch reports a deletion. After a start or a broken watch, Towline only knows that the Application is
// missing. The zero value remembers no Application.
type lossDetector struct {
	window    time.Duration // 0 stands for lossWindow
	mu        sync.Mutex
	deleted   map[types.NamespacedName]bool      // deleted: the watch reported the deletion, or judge decided
	undecided map[types.NamespacedName]time.Time // missing without a decision, with the time of the discovery
	lost      map[types.NamespacedName]bool      // lost
	missing   int                                // number of missing Applications since the last time without an open decision
	restored  bool                               // resource versions on the hub went back

	// waits reports whether another replica leads. Then this replica reconciles no Application, and cannot forget an
	// Application without works. Nil for never.
	waits func() bool

	// spokenOf reports whether a work names an Application. A waiting replica remembers only the Applications of works.
	spokenOf func(types.NamespacedName) bool
}

// watched returns a predicate to note the watch events of Applications. All events pass.
func (m *lossDetector) watched() predicate.Predicate {
	key := client.ObjectKeyFromObject
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { m.forget(key(e.Object)); return true },
		UpdateFunc: func(e event.UpdateEvent) bool { m.compare(e.ObjectOld, e.ObjectNew); return true },
		DeleteFunc: func(e event.DeleteEvent) bool {
			if !e.DeleteStateUnknown {
				m.noteDeletion(key(e.Object))
			}
			return true
		},
	}
}

// worksWatched returns a predicate for waiting replicas. The predicate forgets an Application after the end of the last
// work. All events pass.
func (m *lossDetector) worksWatched() predicate.Predicate {
	past := func(app types.NamespacedName) {
		if m.waiting() && !m.spokenOf(app) {
			m.forget(app)
		}
	}
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, _ := index.HubApplication(e.ObjectOld)
			if after, _ := index.HubApplication(e.ObjectNew); after != before {
				past(before)
			}
			return true
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			app, _ := index.HubApplication(e.Object)
			past(app)
			return true
		},
	}
}

func (m *lossDetector) waiting() bool { return m.waits != nil && m.waits() }

// noteDeletion notes the deletion of an Application, or the loss of the pull label.
func (m *lossDetector) noteDeletion(app types.NamespacedName) {
	if m.waiting() && !m.spokenOf(app) {
		m.forget(app)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app)
	m.decide(app, &m.deleted)
}

// stillLost notes an Application from an earlier loss. The Application does not count among the newly missing
// Applications. The result is false if the watch has since reported a deletion: the Application had come back and was
// deleted then.
func (m *lossDetector) stillLost(app types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deleted[app] {
		return false
	}
	m.drop(app)
	m.decide(app, &m.lost)
	return true
}

// judge reports whether a missing Application was lost, or how long to wait for further missing Applications before
// the decision. The Application was lost if the hub was restored, or if more than massLossThreshold Applications are
// missing. A decision is final, even if the works wait a long time for the clusters. A decided Application does not
// count when further Applications are missing later.
func (m *lossDetector) judge(app types.NamespacedName, now time.Time) (lost bool, left time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deleted[app] || m.lost[app] {
		return m.lost[app], 0
	}
	since, known := m.undecided[app]
	if !known {
		since = now
		put(&m.undecided, app, now)
		m.missing++
		m.show()
	}
	switch left := cmp.Or(m.window, lossWindow) - now.Sub(since); {
	case m.missing > massLossThreshold || m.restored:
		m.decide(app, &m.lost)
		return true, 0
	case left > 0:
		return false, left
	}
	m.decide(app, &m.deleted)
	return false, 0
}

// decide moves an Application to the deleted or to the lost Applications.
func (m *lossDetector) decide(app types.NamespacedName, as *map[types.NamespacedName]bool) {
	delete(m.undecided, app)
	put(as, app, true)
	if len(m.undecided) == 0 {
		m.missing = 0
	}
	m.show()
}

// forget drops an Application that exists again, or without any works left.
func (m *lossDetector) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app)
	m.show()
}

// drop removes the Application from the memory. The caller holds the lock.
func (m *lossDetector) drop(app types.NamespacedName) {
	if _, undecided := m.undecided[app]; undecided {
		m.missing--
	}
	delete(m.deleted, app)
	delete(m.undecided, app)
	delete(m.lost, app)
	if len(m.undecided) == 0 {
		m.missing = 0
	}
}

func (m *lossDetector) show() { orphaned.Set(float64(len(m.undecided) + len(m.lost))) }

func put[V any](to *map[types.NamespacedName]V, app types.NamespacedName, value V) {
	if *to == nil {
		*to = map[types.NamespacedName]V{}
	}
	(*to)[app] = value
}

// compare notes that the hub was restored from a backup, if an object has a lower version than before.
func (m *lossDetector) compare(before, after client.Object) {
	if wentBack(before, after) {
		m.restore()
	}
}

func (m *lossDetector) restore() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restored = true
}

// wentBack reports whether the version of after is lower than the version of before. Versions come from one counter of
// etcd. The counter only grows, except after a restore of the etcd data.
func wentBack(before, after client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(after.GetResourceVersion(), before.GetResourceVersion())
	return err == nil && order < 0
}

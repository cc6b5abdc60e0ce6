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
	// massLossThreshold is how many Applications may have gone without the hub having told of it, before that counts as a loss: some
	// are deleted while Towline is down.
	massLossThreshold = 10

	// lossWindow is how long to look for others before one is taken for one of a few. At a start, and when a watch was broken,
	// all of them are found within this time.
	lossWindow = 5 * time.Second
)

// lossDetector tells the end of an Application from its loss: a hub that was restored from an older backup has lost Applications
// that nobody deleted, and what they deployed must stay. An end is told of by the API server's watch; after a start, and
// after a broken watch, all that is known is that an Application is not there. The zero value knows of nothing.
type lossDetector struct {
	window   time.Duration // 0 stands for lossWindow
	mu       sync.Mutex
	ended    map[types.NamespacedName]bool      // told of, or taken for such
	found    map[types.NamespacedName]time.Time // not told of and not decided yet, and since when that is known
	held     map[types.NamespacedName]bool      // lost
	gap      int                                // how many were found since the last time that all were decided
	restored bool                               // the hub's versions went back

	// waits tells whether another replica leads: nobody here looks at an Application then, and forgets what is over. Nil for
	// never.
	waits func() bool

	// spokenOf tells whether a work names an Application. Of no other need a replica that waits remember anything.
	spokenOf func(types.NamespacedName) bool
}

// watched notes what the watch tells of Applications. It lets everything through.
func (m *lossDetector) watched() predicate.Predicate {
	key := client.ObjectKeyFromObject
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { m.forget(key(e.Object)); return true },
		UpdateFunc: func(e event.UpdateEvent) bool { m.compare(e.ObjectOld, e.ObjectNew); return true },
		DeleteFunc: func(e event.DeleteEvent) bool {
			if !e.DeleteStateUnknown {
				m.end(key(e.Object))
			}
			return true
		},
	}
}

// worksWatched forgets, on a replica that waits, the Applications that a work was the last to speak of. It lets everything
// through.
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

// end notes that an Application was deleted, or lost its pull label.
func (m *lossDetector) end(app types.NamespacedName) {
	if m.waiting() && !m.spokenOf(app) {
		m.forget(app)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app)
	m.decide(app, &m.ended)
}

// hold notes an Application that was lost before, and so is none of those that are found now. It tells whether it still
// counts as lost: not if its end was told of, for it was there again.
func (m *lossDetector) hold(app types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended[app] {
		return false
	}
	m.drop(app)
	m.decide(app, &m.held)
	return true
}

// judge tells whether an Application that is not there was lost, or how long to look for others before that is decided.
// What has been decided stays so, however long its works wait for their clusters, and does not count any more when
// others are missing later.
func (m *lossDetector) judge(app types.NamespacedName, now time.Time) (lost bool, left time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended[app] || m.held[app] {
		return m.held[app], 0
	}
	since, known := m.found[app]
	if !known {
		since = now
		put(&m.found, app, now)
		m.gap++
		m.show()
	}
	switch left := cmp.Or(m.window, lossWindow) - now.Sub(since); {
	case m.gap > massLossThreshold || m.restored:
		m.decide(app, &m.held)
		return true, 0
	case left > 0:
		return false, left
	}
	m.decide(app, &m.ended)
	return false, 0
}

// decide puts an Application among those that ended, or those that are held.
func (m *lossDetector) decide(app types.NamespacedName, as *map[types.NamespacedName]bool) {
	delete(m.found, app)
	put(as, app, true)
	if len(m.found) == 0 {
		m.gap = 0
	}
	m.show()
}

// forget drops an Application that is there, or that no work speaks of any more.
func (m *lossDetector) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(app)
	m.show()
}

// drop takes back what is known of an Application.
func (m *lossDetector) drop(app types.NamespacedName) {
	if _, undecided := m.found[app]; undecided {
		m.gap--
	}
	delete(m.ended, app)
	delete(m.found, app)
	delete(m.held, app)
	if len(m.found) == 0 {
		m.gap = 0
	}
}

func (m *lossDetector) show() { orphaned.Set(float64(len(m.found) + len(m.held))) }

func put[V any](to *map[types.NamespacedName]V, app types.NamespacedName, value V) {
	if *to == nil {
		*to = map[types.NamespacedName]V{}
	}
	(*to)[app] = value
}

// compare notes that the hub was restored from a backup when an object has a lower version than it had.
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

// wentBack tells whether a version is lower than one before it. Versions come from one counter of etcd's, which only
// grows, unless its data is put back.
func wentBack(before, after client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(after.GetResourceVersion(), before.GetResourceVersion())
	return err == nil && order < 0
}

package dependencies

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// scopes caches the scopes of the hub's repository Secrets and certificate authorities, until the next change of an
// object.
type scopes struct {
	mu    sync.Mutex
	valid bool
	known dependency.Credentials
}

// get returns the cached scopes, and calls read if the cache is empty.
func (s *scopes) get(read func() (dependency.Credentials, error)) (dependency.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid {
		known, err := read()
		if err != nil {
			return nil, err
		}
		s.known, s.valid = known, true
	}
	return s.known, nil
}

// forget empties the cache. Call it after a change has arrived in the informer cache.
func (s *scopes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = false
}

// missing remembers since when the Secrets of works have been missing. After a restart, the times begin again.
type missing struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// note returns since when the Secret of a work has been missing: now, for the first call.
func (m *missing) note(key types.NamespacedName, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since == nil {
		m.since = map[types.NamespacedName]time.Time{}
	}
	if _, known := m.since[key]; !known {
		m.since[key] = now
	}
	return m.since[key]
}

// forget drops a work after the return of the Secret, or after the end of the work.
func (m *missing) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, key)
}

// turnPerWork is the time between two decisions about a work, for each work on the cluster. A decision may read all works of
// the cluster, about 20 µs each, and the deletion of an Application wakes its AppProject up to five times. The deletion of
// 300 Applications of one cluster took 11.7 s of Towline's CPU without the pause, and takes 7.0 to 7.7 s.
const turnPerWork = time.Millisecond

// turns remembers until when the next decision about each work waits.
type turns struct {
	mu    sync.Mutex
	until map[types.NamespacedName]time.Time
}

// left returns the remaining wait before the next decision about a work; 0 for none.
func (t *turns) left(key types.NamespacedName, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.until[key].Sub(now))
}

// took records a decision about a work, and the wait before the next decision. took forgets ended waits.
func (t *turns) took(key types.NamespacedName, now time.Time, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.until, func(_ types.NamespacedName, until time.Time) bool { return !until.After(now) })
	if wait == 0 {
		return
	}
	if t.until == nil {
		t.until = map[types.NamespacedName]time.Time{}
	}
	t.until[key] = now.Add(wait)
}

// leadInterval is the time between two decisions of Lead about a missing work ahead of Applications. Without the wait, a
// work that must not or cannot be created would cost a decision for each new Application.
const leadInterval = 10 * time.Second

// refreshes remembers the last requested refresh of each Application, by the objects work of the Application.
type refreshes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]dependency.Refresh
}

func (n *refreshes) last(key types.NamespacedName) dependency.Refresh {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[key]
}

// remember keeps the last request, or forgets the request if the Application needs no refresh.
func (n *refreshes) remember(key types.NamespacedName, last dependency.Refresh) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last == (dependency.Refresh{}) {
		delete(n.all, key)
		return
	}
	if n.all == nil {
		n.all = map[types.NamespacedName]dependency.Refresh{}
	}
	n.all[key] = last
}

// watched returns a predicate that forgets deleted Applications. All events pass.
func (n *refreshes) watched() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if app, ok := e.Object.(*argocd.Application); ok {
			n.remember(dependency.ObjectsKey(work.Key(app)), dependency.Refresh{})
		}
		return true
	}}
}

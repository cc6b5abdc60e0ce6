package dependencies

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// scopes keeps what the hub's repository Secrets and certificate authorities are for, until one of them changes.
type scopes struct {
	mu    sync.Mutex
	valid bool
	known dependency.Credentials
}

// get is what they are for. read reads it where it is not known.
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

// forget is called after a change has got into the cache.
func (s *scopes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = false
}

// missing remembers since when the Secrets of works have been missing. After a restart that begins anew.
type missing struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// note is since when the Secret of a work has been missing: now, if it was not before.
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

// forget drops the work of a Secret that is there, or a work that is not.
func (m *missing) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, key)
}

// unbrought remembers the works of AppProjects of which no older controller has sent theirs to the cluster. Nobody sends more of them
// while Towline runs, and the agent's words on a refusal may change with each try: so this is read once for each version of a work.
type unbrought struct {
	mu  sync.Mutex
	all map[types.NamespacedName]version
}

// version is one of what a work says.
type version struct {
	uid        types.UID
	generation int64
}

// knows tells whether that is known of a work; it is not of one that is to be made.
func (u *unbrought) knows(w *workv1.ManifestWork) bool {
	if w == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[client.ObjectKeyFromObject(w)] == version{w.UID, w.Generation}
}

func (u *unbrought) note(w *workv1.ManifestWork) {
	if w == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[types.NamespacedName]version{}
	}
	u.all[client.ObjectKeyFromObject(w)] = version{w.UID, w.Generation}
}

// forget drops a work that is not there.
func (u *unbrought) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, key)
}

// refreshes remembers the last request for a refresh of each Application, by its objects work.
type refreshes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]dependency.Refresh
}

func (n *refreshes) last(key types.NamespacedName) dependency.Refresh {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[key]
}

// remember keeps the last request, or forgets that of an Application that needs none.
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

// watched forgets the Applications that go. It lets everything through.
func (n *refreshes) watched() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if app, ok := e.Object.(*argocd.Application); ok {
			n.remember(dependency.ObjectsKey(work.Key(app)), dependency.Refresh{})
		}
		return true
	}}
}

package propagation

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// uncachedWorks are works that may exist outside the cache, by hub Application:
//   - works created by this process;
//   - works of Applications before a move, possibly created by an earlier process;
//   - works of older controllers without the label by which the cache selects.
//
// Without this memory, an Application could move to a second cluster while Towline does not know about the first
// cluster. And a different Application could take the same namespace and name on the first cluster. The zero value has
// no works; a new process lists the existing works.
type uncachedWorks struct {
	mu    sync.Mutex
	works map[types.NamespacedName][]types.NamespacedName
}

// watched returns a predicate to note the work of an Application from before a move. All events pass. A waiting replica
// notes no work, because no reconcile would remove the note.
func (m *uncachedWorks) watched(waits func() bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		if before.Cluster() != after.Cluster() && delivery.Named(before) && !waits() {
			m.note(client.ObjectKeyFromObject(after), work.Key(before))
		}
		return true
	}}
}

// note remembers a work.
func (m *uncachedWorks) note(app, w types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.works == nil {
		m.works = map[types.NamespacedName][]types.NamespacedName{}
	}
	if !slices.Contains(m.works[app], w) {
		m.works[app] = append(slices.Clip(m.works[app]), w)
	}
}

// of returns the noted works of an Application.
func (m *uncachedWorks) of(app types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.works[app]
}

// on returns the noted works on a cluster.
func (m *uncachedWorks) on(cluster string) (works []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range m.works {
		for _, w := range of {
			if w.Namespace == cluster {
				works = append(works, w)
			}
		}
	}
	return works
}

// forget drops a deleted work, or a work in the cache.
func (m *uncachedWorks) forget(app, gone types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(m.works[app]), func(w types.NamespacedName) bool { return w == gone })
	if m.works[app] = left; len(left) == 0 {
		delete(m.works, app)
	}
}

func (m *uncachedWorks) remember(from *uncachedWorks) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.works = maps.Clone(from.works)
}

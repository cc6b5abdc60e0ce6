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

// uncachedWorks are works that may be there though the cache does not show them, by hub Application: those that were made here, those that
// Applications had before they moved, which another process may have made, and those that older controllers made without the label by
// which the cache selects. Without them, an Application that moves at once would be sent to a second cluster while nothing is known of
// the first. And another Application would be sent to the same namespace and name on the first. The zero value knows of none; a process
// that starts lists what is there.
type uncachedWorks struct {
	mu    sync.Mutex
	works map[types.NamespacedName][]types.NamespacedName
}

// watched notes the work that an Application had before it moved. It lets everything through. A replica that waits notes none: nobody
// there would forget it.
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

// of are the works of an Application.
func (m *uncachedWorks) of(app types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.works[app]
}

// on are the works on a cluster.
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

// forget drops a work that the cache shows, or that is gone.
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

package propagation

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// made are works that were made here and that the cache has not shown yet, by hub Application, and those that older controllers
// made without the label by which the cache selects. Without those that were made here, an Application that moves at once would be sent
// to a second cluster while nothing is known of the first. And another Application would be sent to the same namespace and name on the
// first. The zero value knows of none; a process that starts lists what is there.
type made struct {
	mu    sync.Mutex
	works map[types.NamespacedName][]types.NamespacedName
}

// note remembers a work.
func (m *made) note(app, work types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.works == nil {
		m.works = map[types.NamespacedName][]types.NamespacedName{}
	}
	if !slices.Contains(m.works[app], work) {
		m.works[app] = append(slices.Clip(m.works[app]), work)
	}
}

// of are the works of an Application.
func (m *made) of(app types.NamespacedName) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.works[app]
}

// on are the works on a cluster.
func (m *made) on(cluster string) (works []types.NamespacedName) {
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
func (m *made) forget(app, work types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(m.works[app]), func(w types.NamespacedName) bool { return w == work })
	if m.works[app] = left; len(left) == 0 {
		delete(m.works, app)
	}
}

func (m *made) remember(from *made) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.works = maps.Clone(from.works)
}

package resourcetree

import (
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// entry is what was last written for an Application, and when it was last known to be there.
type entry struct {
	digest [sha256.Size]byte
	at     time.Time
}

// memory is of the entries that were written from here.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
}

func (m *memory) get(app types.NamespacedName) entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[app]
}

func (m *memory) remember(app types.NamespacedName, e entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[types.NamespacedName]entry{}
	}
	m.entries[app] = e
}

func (m *memory) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, app)
}

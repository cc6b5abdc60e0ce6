package resourcetree

import (
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// entry is the digest of the last written entry of an Application, and the last time when Redis had the entry.
type entry struct {
	digest [sha256.Size]byte
	at     time.Time
}

// memory holds the entries written by this process.
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

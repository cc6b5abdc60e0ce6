package managed

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// sent is the last state of an Application's entry that the hub knows.
type sent struct {
	// work is the ManifestWork of the Application.
	work string

	// entry is the digest of the entry in the cluster's Redis. body is the digest of the sent body; empty if the hub has
	// no entry.
	entry, body string

	// at is the time of the last answer of the hub; zero if the hub may have lost the entry.
	at time.Time
}

// memory holds the state of each Application.
type memory struct {
	mu    sync.Mutex
	known map[types.NamespacedName]sent
}

func (m *memory) get(app types.NamespacedName, work string) sent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[app]; known.work == work {
		return known
	}
	return sent{}
}

func (m *memory) set(app types.NamespacedName, s sent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]sent{}
	}
	m.known[app] = s
}

// doubt notes that the hub may have lost the entry.
func (m *memory) doubt(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[app]; ok {
		known.at = time.Time{}
		m.known[app] = known
	}
}

func (m *memory) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, app)
}

package placement

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/placement"
)

// brakes remembers the clusters that Applications were given. After a restart, the memory is empty.
type brakes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]placement.Brake
}

// of returns the memory of an Application.
func (b *brakes) of(app types.NamespacedName) placement.Brake {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[app]
}

// wrote notes a new cluster for an Application.
func (b *brakes) wrote(app types.NamespacedName, cluster string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[types.NamespacedName]placement.Brake{}
	}
	b.all[app] = b.all[app].Wrote(cluster, time.Now())
}

// forget drops the memory of a deleted Application.
func (b *brakes) forget(app types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, app)
}

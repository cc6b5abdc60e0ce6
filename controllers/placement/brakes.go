package placement

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/placement"
)

// brakes remembers the clusters that Applications were given. A restart begins anew.
type brakes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]placement.Brake
}

// of is what is remembered of an Application.
func (b *brakes) of(app types.NamespacedName) placement.Brake {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[app]
}

// wrote notes that an Application was given a cluster.
func (b *brakes) wrote(app types.NamespacedName, cluster string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[types.NamespacedName]placement.Brake{}
	}
	b.all[app] = b.all[app].Wrote(cluster, time.Now())
}

// forget drops what is remembered of an Application that is gone.
func (b *brakes) forget(app types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, app)
}

package agent

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pace keeps the writes of each Application's report apart.
type pace struct {
	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// wait is how long the next write has to wait; 0 when it need not.
func (p *pace) wait(app types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, Interval-time.Since(p.last[app]))
}

func (p *pace) wrote(app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[types.NamespacedName]time.Time{}
	}
	p.last[app] = time.Now()
}

func (p *pace) forget(app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, app)
}

package agent

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// If the hub deletes a report after every write, the hub has no ManifestWork for the report, or is deleting the
// ManifestWork. After the first deletion, the agent writes the report again at once. After later deletions, the agent
// waits for firstAgain at first, then longer, and at most for lastAgain. If the report existed for long before its
// deletion, the deletion counts as the first deletion again. The hub deletes a report without a ManifestWork after
// appreport.OwnerGrace.
const (
	firstAgain = 30 * time.Second
	lastAgain  = time.Hour
	long       = 5 * time.Minute
)

// pace limits the writes of each Application's report.
type pace struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]written
}

// written is the state of the last write of a report.
type written struct {
	name string
	at   time.Time

	// lost is true if the report was deleted after the write. again is the wait before the next write of a lost report.
	// If an earlier process wrote the report, only lost is known.
	lost  bool
	again time.Duration
}

// wait returns how long the next write of the named report must wait, or 0.
func (p *pace) wait(app types.NamespacedName, name string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.writes[app]
	apart := Interval
	if last.lost && last.name == name {
		apart = max(apart, last.again)
	}
	return max(0, apart-time.Since(last.at))
}

func (p *pace) wrote(app types.NamespacedName, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, last := written{name: name, at: time.Now()}, p.writes[app]
	if last.name == name {
		now.again = last.again
		if last.lost && !last.at.IsZero() {
			now.again = min(max(firstAgain, 2*last.again), lastAgain)
		}
	}
	p.set(app, now)
}

// lost records the deletion of the Application's named report.
func (p *pace) lost(app types.NamespacedName, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.writes[app]
	if ok && last.name != name {
		return
	}
	last.name = name
	last.lost = true
	if time.Since(last.at) > max(long, 2*last.again) {
		last.again = 0
	}
	p.set(app, last)
}

// isLost returns true if the Application's named report was deleted, and not written since.
func (p *pace) isLost(app types.NamespacedName, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.writes[app]
	return last.lost && last.name == name
}

func (p *pace) set(app types.NamespacedName, last written) {
	if p.writes == nil {
		p.writes = map[types.NamespacedName]written{}
	}
	p.writes[app] = last
}

func (p *pace) forget(app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, app)
}

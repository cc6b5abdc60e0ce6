package agent

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A report that is deleted as often as it is written has no ManifestWork on the hub, or one that is being deleted. It is written again at
// once the first time, and then after this long at first and at the latest.
// One that was there for long before counts as deleted for the first time. The hub deletes it after appreport.OwnerGrace.
const (
	firstAgain = 30 * time.Second
	lastAgain  = time.Hour
	long       = 5 * time.Minute
)

// pace keeps the writes of each Application's report apart.
type pace struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]written
}

// written is what is known of the last write of a report.
type written struct {
	name string
	at   time.Time

	// lost is set when the report was deleted since, and again is how long to wait then before the next one. Of a report that an
	// earlier process wrote, no more is known than that.
	lost  bool
	again time.Duration
}

// wait is how long the next write of the Application's report of that name has to wait; 0 when it need not.
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

// lost notes that the Application's report of that name was deleted.
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

// isLost tells whether the Application's report of that name was deleted, and not written since.
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

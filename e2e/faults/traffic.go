package faults

import (
	"maps"
	"sync"
)

// traffic counts the requests that come through a proxy: those that were made, and the watches that are open, both by what they do.
type traffic struct {
	mu   sync.Mutex
	made map[string]int
	open map[string]int
}

func newTraffic() *traffic { return &traffic{made: map[string]int{}, open: map[string]int{}} }

// begins notes a request, and returns what is to be told of its end.
func (t *traffic) begins(r *request) (ends func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !r.watches {
		t.made[r.site()]++
		return func() {}
	}
	t.open[r.resource]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.open[r.resource]--
	}
}

// now is what was counted so far.
func (t *traffic) now() (made, open map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.made), maps.Clone(t.open)
}

package faults

import (
	"maps"
	"sync"
)

// traffic counts the requests through a proxy: finished requests by verb and resource, and open watches by resource.
type traffic struct {
	mu   sync.Mutex
	made map[string]int
	open map[string]int
}

func newTraffic() *traffic { return &traffic{made: map[string]int{}, open: map[string]int{}} }

// begins records a request, and returns a function for the end of the request.
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

// now returns the counts so far.
func (t *traffic) now() (made, open map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.made), maps.Clone(t.open)
}

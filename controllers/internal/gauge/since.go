package gauge

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Seconds are the buckets of histograms of how long Towline and its clusters take.
var Seconds = []float64{.05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 60}

// Since remembers since when something about an Application waits to be dealt with. The zero value remembers nothing. It holds
// what a controller has in its queue or in its hands, and no more: whoever deals with it takes it out.
type Since struct {
	mu    sync.Mutex
	times map[types.NamespacedName]time.Time
}

// Note remembers that something waits since a time. Of two times the earlier one stays; the zero time is none.
func (s *Since) Note(app types.NamespacedName, at time.Time) {
	if at.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, is := s.times[app]; is && !at.Before(known) {
		return
	}
	if s.times == nil {
		s.times = map[types.NamespacedName]time.Time{}
	}
	s.times[app] = at
}

// Take forgets since when something waits, and returns it; zero where nothing does.
func (s *Since) Take(app types.NamespacedName) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.times[app]
	delete(s.times, app)
	return at
}

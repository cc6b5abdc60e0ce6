package gauge

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Seconds are the histogram buckets for durations of Towline and of its clusters.
var Seconds = []float64{.05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 60}

// Since remembers the oldest unhandled change of each Application. The zero value is empty. Since has entries only for
// Applications in the queue or in work of a controller: the controller takes the entry out when it handles the
// Application.
type Since struct {
	mu    sync.Mutex
	times map[types.NamespacedName]time.Time
}

// Note records that an Application has waited since the given time. The earlier of two times stays. A zero time is
// ignored.
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

// Take removes and returns the time since when an Application waits. The result is zero if the Application does not
// wait.
func (s *Since) Take(app types.NamespacedName) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.times[app]
	delete(s.times, app)
	return at
}

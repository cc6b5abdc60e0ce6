package managed

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// sizes are the sizes of the entries of each cluster, as known to this process.
type sizes struct {
	mu    sync.Mutex
	known map[string]map[types.NamespacedName]int64
}

// reserve notes the size of an Application's entry, unless the cluster's entries together are then larger than most.
func (s *sizes) reserve(cluster string, app types.NamespacedName, bytes, most int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := bytes
	for other, size := range s.known[cluster] {
		if other != app {
			total += size
		}
	}
	if total > most {
		return false
	}
	if s.known == nil {
		s.known = map[string]map[types.NamespacedName]int64{}
	}
	if s.known[cluster] == nil {
		s.known[cluster] = map[types.NamespacedName]int64{}
	}
	s.known[cluster][app] = bytes
	return true
}

// free forgets the entry of an Application.
func (s *sizes) free(cluster string, app types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.known[cluster], app); len(s.known[cluster]) == 0 {
		delete(s.known, cluster)
	}
}

// replace sets all sizes.
func (s *sizes) replace(known map[string]map[types.NamespacedName]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = known
}

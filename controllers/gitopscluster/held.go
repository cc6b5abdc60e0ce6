package gitopscluster

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// held remembers which GitOpsClusters wait for the Applications of a cluster to go. A restart looks at all of them anyway.
type held struct {
	mu      sync.Mutex
	waiting map[string][]types.NamespacedName
}

// set notes that a GitOpsCluster waits for those clusters, and for no others.
func (h *held) set(g types.NamespacedName, clusters []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cluster, waiting := range h.waiting {
		if waiting = slices.DeleteFunc(waiting, func(w types.NamespacedName) bool { return w == g }); len(waiting) == 0 {
			delete(h.waiting, cluster)
		} else {
			h.waiting[cluster] = waiting
		}
	}
	h.note(g, clusters)
}

// add notes that it waits for those clusters too.
func (h *held) add(g types.NamespacedName, clusters []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(g, clusters)
}

func (h *held) note(g types.NamespacedName, clusters []string) {
	if h.waiting == nil {
		h.waiting = map[string][]types.NamespacedName{}
	}
	for _, cluster := range clusters {
		if !slices.Contains(h.waiting[cluster], g) {
			h.waiting[cluster] = append(h.waiting[cluster], g)
		}
	}
}

// of are the GitOpsClusters that wait for a cluster.
func (h *held) of(cluster string) []types.NamespacedName {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.waiting[cluster])
}

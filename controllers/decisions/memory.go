package decisions

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// change is the change of a Placement's decisions since the last refresh of the ApplicationSets.
type change struct {
	// gained are the new clusters, and lost are the removed clusters. A cluster moved between two PlacementDecisions is
	// in both lists.
	gained, lost []string

	// once is set after the first refresh of the ApplicationSets for this change.
	once bool
}

// without returns the names missing in others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// changes are the changes of all Placements.
type changes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]change
}

// note adds the clusters of one PlacementDecision before and after a change.
func (c *changes) note(key types.NamespacedName, before, after []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[types.NamespacedName]change{}
	}
	now := c.all[key]
	if now.once {
		now = change{}
	}
	now.gained = append(slices.Clip(now.gained), without(after, before)...)
	now.lost = append(slices.Clip(now.lost), without(before, after)...)
	c.all[key] = now
}

// of returns the change of a Placement; nil for none.
func (c *changes) of(key types.NamespacedName) *change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.all[key]; ok {
		return &now
	}
	return nil
}

// noteRefresh notes a refresh for a change, and reports whether a second refresh is due. A further change since then stays.
func (c *changes) noteRefresh(key types.NamespacedName, of *change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.all[key]
	if now.once != of.once || !slices.Equal(now.gained, of.gained) || !slices.Equal(now.lost, of.lost) {
		return false // the new change has queued the Placement
	}
	if now.once {
		delete(c.all, key)
		return false
	}
	now.once = true
	c.all[key] = now
	return true
}

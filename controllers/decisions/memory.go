package decisions

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// change is how the decisions of a Placement have changed since its ApplicationSets were last asked.
type change struct {
	// gained are the clusters that came, and lost those that went. One that went from one PlacementDecision to another is in both.
	gained, lost []string

	// once is set when the ApplicationSets have been asked for it one time.
	once bool
}

// without are the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// changes are those of all Placements.
type changes struct {
	mu  sync.Mutex
	all map[types.NamespacedName]change
}

// note adds what one PlacementDecision named, and names now.
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

// of is the change of a Placement; nil for none.
func (c *changes) of(key types.NamespacedName) *change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.all[key]; ok {
		return &now
	}
	return nil
}

// asked notes that the ApplicationSets have been asked for a change, and tells whether to ask once more. Another change since
// stays.
func (c *changes) asked(key types.NamespacedName, of *change) bool {
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

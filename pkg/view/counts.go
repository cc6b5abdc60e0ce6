package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/why"
)

// none replaces an empty code of an Application without a report from its cluster.
const none = "None"

// Counts count Applications.
type Counts struct {
	// Applications is the total number.
	Applications int `json:"applications"`

	// OK, Waiting and Blocked count the Applications by state.
	OK      int `json:"ok"`
	Waiting int `json:"waiting"`
	Blocked int `json:"blocked"`
}

// Add counts a row.
func (c *Counts) Add(r *Row) {
	c.Applications++
	switch r.State {
	case why.Blocked:
		c.Blocked++
	case why.Waiting:
		c.Waiting++
	default:
		c.OK++
	}
}

// State returns the worst state of the counted Applications; empty for no Applications.
func (c *Counts) State() why.State {
	switch {
	case c.Applications == 0:
		return ""
	case c.Blocked > 0:
		return why.Blocked
	case c.Waiting > 0:
		return why.Waiting
	}
	return why.OK
}

// CountsOf counts rows.
func CountsOf(rows []Row) Counts {
	var c Counts
	for i := range rows {
		c.Add(&rows[i])
	}
	return c
}

// Stats count the Applications of a fleet.
type Stats struct {
	Counts `json:",inline"`

	// Clusters and Sets are the numbers of distinct clusters and ApplicationSets.
	Clusters int `json:"clusters"`
	Sets     int `json:"applicationSets"`

	// ByHealth and BySync count the Applications by code. ByReason counts the Applications with problems by reason. The
	// most frequent comes first.
	ByHealth []Count `json:"byHealth"`
	BySync   []Count `json:"bySync"`
	ByReason []Count `json:"byReason"`

	// ByNamespace counts the Applications by their namespace on the hub, sorted by name.
	ByNamespace []NamespaceCounts `json:"byNamespace"`
}

// Count is the number of Applications with the same name of a code or reason.
type Count struct {
	// Name is the counted code or reason.
	Name string `json:"name"`

	// State is the worst state of the counted Applications.
	State why.State `json:"state"`

	// Applications is the number of Applications.
	Applications int `json:"applications"`
}

// NamespaceCounts are the counts of one namespace.
type NamespaceCounts struct {
	// Namespace is the namespace on the hub.
	Namespace string `json:"namespace"`
	Counts    `json:",inline"`
}

// StatsOf counts rows.
func StatsOf(rows []Row) *Stats {
	clusters, sets := map[string]bool{}, map[string]bool{}
	health, sync, reason, namespaces := counter{}, counter{}, counter{}, map[string]*Counts{}
	s := &Stats{}
	for i := range rows {
		r := &rows[i]
		s.Add(r)
		health.add(cmp.Or(r.Health, none), r.State)
		sync.add(cmp.Or(r.Sync, none), r.State)
		if r.State != why.OK {
			reason.add(cmp.Or(r.Reason, none), r.State)
		}
		if r.Cluster != "" {
			clusters[r.Cluster] = true
		}
		if r.Set != "" {
			sets[r.Namespace+"/"+r.Set] = true
		}
		if namespaces[r.Namespace] == nil {
			namespaces[r.Namespace] = &Counts{}
		}
		namespaces[r.Namespace].Add(r)
	}
	s.Clusters, s.Sets = len(clusters), len(sets)
	s.ByHealth, s.BySync, s.ByReason = health.list(), sync.list(), reason.list()
	s.ByNamespace = make([]NamespaceCounts, 0, len(namespaces))
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		s.ByNamespace = append(s.ByNamespace, NamespaceCounts{Namespace: ns, Counts: *namespaces[ns]})
	}
	return s
}

// counter counts by name.
type counter map[string]*Count

func (c counter) add(name string, state why.State) {
	if c[name] == nil {
		c[name] = &Count{Name: name}
	}
	c[name].Applications++
	c[name].State = Worst(c[name].State, state)
}

// list returns the counts, the most frequent first.
func (c counter) list() []Count {
	out := make([]Count, 0, len(c))
	for _, n := range c {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Applications, a.Applications), cmp.Compare(a.Name, b.Name))
	})
	return out
}

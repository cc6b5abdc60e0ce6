package hub

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/towline-io/towline/pkg/ui"
	"github.com/towline-io/towline/pkg/view"
)

// place is a cluster with its Applications, as the API server gave both to one identity. place implements ui.Place.
type place struct {
	cluster string

	// applications are the Applications of each feed with Applications on the cluster. managed is the ManagedCluster;
	// nil if missing.
	applications []*block[unique.Handle[application]]
	managed      *block[unique.Handle[cluster]]
}

// Cluster implements ui.Place.
func (p *place) Cluster() string { return p.cluster }

// Read implements ui.Place.
func (p *place) Read() ui.Content {
	out := ui.Content{Deleting: map[string]time.Time{}}
	for _, b := range p.applications {
		for _, h := range b.values {
			a := h.Value()
			a.addTo(&out)
		}
	}
	view.Sort(out.Rows)
	if p.managed != nil {
		c := p.managed.values[0].Value()
		m := c.managed()
		out.Managed = &m
	}
	return out
}

// addTo adds a kept Application to the content.
func (a *application) addTo(c *ui.Content) {
	r := a.row
	if a.heard != 0 {
		at := time.Unix(a.heard, 0)
		r.Heard = &at
	}
	if a.deleting != 0 {
		c.Deleting[r.ID()] = time.Unix(a.deleting, 0)
	}
	c.Rows = append(c.Rows, r)
}

// equal returns whether two places have the same content.
func (p *place) equal(q *place) bool {
	return p.managed == q.managed && slices.Equal(p.applications, q.applications)
}

// places returns the clusters of the feeds. An unchanged cluster keeps its place from before.
func places(before []ui.Place, applications []*feed[unique.Handle[application]], clusters *feed[unique.Handle[cluster]]) []ui.Place {
	found := make(map[string]*place, len(before))
	at := func(name string) *place {
		if found[name] == nil {
			found[name] = &place{cluster: name}
		}
		return found[name]
	}
	for _, f := range applications {
		f.mu.RLock()
		for name, b := range f.store.clusters {
			p := at(name)
			p.applications = append(p.applications, b)
		}
		f.mu.RUnlock()
	}
	clusters.mu.RLock()
	for name, b := range clusters.store.clusters {
		at(name).managed = b
	}
	clusters.mu.RUnlock()
	for _, b := range before {
		if was, ok := b.(*place); ok && found[was.cluster] != nil && was.equal(found[was.cluster]) {
			found[was.cluster] = was
		}
	}
	out := make([]ui.Place, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

// labelKeys returns the keys of the clusters' labels, sorted.
func (f *feed[T]) labelKeys(labels func(T) string) []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	seen, keys := map[string]bool{}, map[string]bool{}
	for _, v := range f.store.kept {
		text := labels(v)
		if seen[text] {
			continue
		}
		seen[text] = true
		for pair := range strings.SplitSeq(text, between) {
			if key, _, ok := strings.Cut(pair, within); ok {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

package resourcesync

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/search"
)

const (
	// pageSize is the number of clusters in a request.
	pageSize = 20

	// lastBackoff is the longest wait before the next request for a failing page.
	lastBackoff = 2 * time.Minute
)

// defaultPatience is how long a page may fail before its facts are marked stale. A stale mark costs a write for each
// Application, and its end costs a second write.
const defaultPatience = 2 * time.Minute

// page is a group of clusters in a request, with the results of the requests. The clusters identify the page.
type page struct {
	clusters []string
	wanted   []search.Key

	// divided pages are requested in halves.
	divided bool

	// failures is the number of failures in a row, since is the time of the first failure, and err is the last error.
	// next is the time of the next request.
	failures int
	since    time.Time
	err      error
	next     time.Time
}

// due returns the pages to request now, for all clusters with Applications. The pages stay the same while the clusters
// stay the same.
func (s *Search) due(all []search.Key) []*page {
	slices.SortFunc(all, func(a, b search.Key) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.pages
	s.pages = map[string]*page{}
	var due []*page
	for clusters := range slices.Chunk(byCluster(all), pageSize) {
		due = append(due, s.carryOver(before, clusters)...)
	}
	return due
}

// byCluster groups sorted keys by cluster.
func byCluster(all []search.Key) [][]search.Key {
	var out [][]search.Key
	for i, k := range all {
		if i == 0 || all[i-1].Cluster != k.Cluster {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], k)
	}
	return out
}

// carryOver returns the page of the clusters with its earlier state, if the page is due. For a divided page, carryOver
// returns the halves that are due.
func (s *Search) carryOver(before map[string]*page, clusters [][]search.Key) []*page {
	p := &page{}
	for _, keys := range clusters {
		p.clusters = append(p.clusters, keys[0].Cluster)
		p.wanted = append(p.wanted, keys...)
	}
	id := strings.Join(p.clusters, ",")
	if known := before[id]; known != nil {
		known.wanted = p.wanted
		p = known
	}
	s.pages[id] = p
	if p.divided {
		half := len(clusters) / 2
		return append(s.carryOver(before, clusters[:half]), s.carryOver(before, clusters[half:])...)
	}
	if s.clock.Now().Before(p.next) {
		return nil
	}
	return []*page{p}
}

// divide splits a page into two pages.
func (s *Search) divide(p *page) []*page {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.divided, p.failures, p.err, p.since = true, 0, nil, time.Time{}
	clusters := byCluster(p.wanted)
	half := len(clusters) / 2
	return append(s.carryOver(s.pages, clusters[:half]), s.carryOver(s.pages, clusters[half:])...)
}

// succeeded records the success of a page, and returns the Applications whose facts are no longer stale.
func (s *Search) succeeded(p *page, w wanted) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.failures, p.err, p.since, p.next = 0, nil, time.Time{}, time.Time{}
	return s.stale(p, w, false)
}

// failed records the failure of a page, and returns the Applications with a changed mark. The wait before the next
// request grows with each failure. A random part of the wait spreads the requests of pages that failed together.
func (s *Search) failed(p *page, err error, w wanted) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	searchFailures.WithLabelValues(string(reasonOf(err))).Inc()
	now := s.clock.Now()
	if p.failures == 0 {
		p.since = now
	}
	p.err = err
	wait := min(s.interval<<min(p.failures, 10), max(lastBackoff, s.interval))
	p.failures++
	// The wait is less than a whole number of intervals, so that the page is due in the round at its end.
	p.next = now.Add(time.Duration(float64(wait) * (0.5 + s.jitter()*0.49)))
	return s.stale(p, w, true)
}

// stale marks the facts of a failing page's Applications, and returns the Applications with a changed mark. Old facts
// may lack a new condition, so their conditions are marked incomplete. Stale facts keep their mark and its time until a
// page succeeds, because the pages change with the clusters.
func (s *Search) stale(p *page, w wanted, fails bool) []types.NamespacedName {
	var since metav1.Time
	if fails && s.clock.Since(p.since) >= s.Patience {
		since = metav1.NewTime(p.since)
	}
	var changed []types.NamespacedName
	for _, key := range p.wanted {
		for _, app := range w[key] {
			h, ok := s.facts[app]
			mark := since
			if ok && fails && !h.facts.StaleSince.IsZero() {
				mark = h.facts.StaleSince
			}
			if ok && (!h.facts.StaleSince.Equal(&mark) || h.facts.ConditionsComplete == fails) {
				f := *h.facts
				f.StaleSince, f.ConditionsComplete = mark, !fails
				s.facts[app] = heard{of: h.of, facts: &f}
				changed = append(changed, app)
			}
		}
	}
	return changed
}

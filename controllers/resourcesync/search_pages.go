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
	// pageSize is how many clusters are asked for in one request.
	pageSize = 20

	// lastBackoff is how long a page that fails again and again is left alone at the most.
	lastBackoff = 2 * time.Minute
)

// DefaultPatience is how long a page may fail before its facts are said to be stale: to tell of it is a write for each Application,
// and another one at the end.
const DefaultPatience = 2 * time.Minute

// page is some clusters that are asked for together, and how that went. Its identity is its clusters.
type page struct {
	clusters []string
	wanted   []search.Key

	// divided pages are asked for in halves.
	divided bool

	// failures is how often it failed in a row, since when and with what, and when to ask again.
	failures int
	since    time.Time
	err      error
	next     time.Time
}

// due are the pages to ask for now: of all clusters that have Applications, in an order that stays while they do.
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

// byCluster are the sorted keys of each cluster.
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

// carryOver is the page of the clusters with what is known of it, or its halves if it has been divided, where it is
// time to ask for them.
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

// divide makes two pages of one.
func (s *Search) divide(p *page) []*page {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.divided, p.failures, p.err, p.since = true, 0, nil, time.Time{}
	clusters := byCluster(p.wanted)
	half := len(clusters) / 2
	return append(s.carryOver(s.pages, clusters[:half]), s.carryOver(s.pages, clusters[half:])...)
}

// succeeded notes that a page works, and returns the Applications whose facts are not stale any more.
func (s *Search) succeeded(p *page, w wanted) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.failures, p.err, p.since, p.next = 0, nil, time.Time{}, time.Time{}
	return s.stale(p, w, false)
}

// failed notes that a page does not work, and returns the Applications whose facts are stale from now on. It is
// asked for again later each time, and not together with all others that failed at the same time.
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
	// Less than a whole wait, so that the round at its end finds the page due.
	p.next = now.Add(time.Duration(float64(wait) * (0.5 + s.jitter()*0.49)))
	return s.stale(p, w, true)
}

// stale marks what is known of a page's Applications while it fails, and returns those of which that is new. A condition that
// is not among old facts may be there by now. What is stale stays so, and since then, until a page succeeds: clusters come and go,
// and their pages with them.
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

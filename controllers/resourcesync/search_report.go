package resourcesync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/search"
)

// report logs failures when they change, and not again while they last. report runs at each failure, and not only at
// the end of a round: a round of slow failures takes minutes.
func (s *Search) report(ctx context.Context) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	s.mu.Lock()
	failing, total, reasons := []string(nil), 0, map[search.Reason]bool{}
	var first error
	for _, id := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[id]
		if p.divided {
			continue
		}
		total += len(p.clusters)
		if p.err != nil {
			failing = append(failing, p.clusters...)
			reasons[reasonOf(p.err)] = true
			if first == nil {
				first = p.err
			}
		}
	}
	s.mu.Unlock()
	searchStale.Set(float64(len(failing)))
	if first == nil {
		searchSuccess.Set(float64(s.clock.Now().Unix()))
	}
	text := strings.Join(slices.Sorted(maps.Keys(stringsOf(reasons))), ",")
	s.log(ctx, text, first, "clusters", len(failing), "of", total, "first", failing[:min(len(failing), pageSize)])
}

func (s *Search) log(ctx context.Context, state string, err error, values ...any) {
	if state == s.reported {
		return
	}
	s.reported = state
	log := ctrl.LoggerFrom(ctx).WithName("search")
	if err == nil {
		log.Info("Search answers again for all clusters")
		return
	}
	log.Error(err, "Search does not answer for some clusters; the known resources of the Applications on these clusters stay", values...)
}

func stringsOf(reasons map[search.Reason]bool) map[string]bool {
	out := map[string]bool{}
	for r := range reasons {
		out[string(r)] = true
	}
	return out
}

func reasonOf(err error) search.Reason {
	if e := (*search.Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return search.Failed
}

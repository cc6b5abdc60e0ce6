package resourcesync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/search"
)

// atOnce is the number of parallel requests, so that a slow page does not delay all other pages.
const atOnce = 4

// wanted are the counterparts to ask for, each with its hub Applications.
type wanted map[search.Key][]types.NamespacedName

// round requests all due pages once.
func (s *Search) round(ctx context.Context) {
	w, err := s.wanted(ctx)
	if err != nil {
		s.log(ctx, "cache: "+err.Error(), err)
		return
	}
	s.forget(w)
	slots := make(chan struct{}, atOnce)
	var asked sync.WaitGroup
	for _, p := range s.due(slices.Collect(maps.Keys(w))) {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			s.query(ctx, p, w)
		})
	}
	asked.Wait()
	if ctx.Err() == nil {
		s.report(ctx)
	}
}

// wanted lists the pull Applications of the hub, by their counterparts.
func (s *Search) wanted(ctx context.Context) (wanted, error) {
	apps := &argocd.ApplicationList{}
	if err := s.client.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	w := wanted{}
	for i := range apps.Items {
		app := &apps.Items[i]
		if app.Pulled() && search.ValidCluster(app.Cluster()) {
			w[counterpart(app)] = append(w[counterpart(app)], client.ObjectKeyFromObject(app))
		}
	}
	return w, nil
}

// forget drops the facts of Applications that the hub has deleted or moved.
func (s *Search) forget(w wanted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.facts, func(app types.NamespacedName, h heard) bool {
		return !slices.Contains(w[h.of], app)
	})
}

// query requests a page and stores the answer. If an answer is too large or invalid, query requests the page in halves, now
// and from now on. A single cluster then cannot harm the other clusters.
func (s *Search) query(ctx context.Context, p *page, w wanted) {
	answer, err := s.querier.Query(ctx, p.wanted)
	switch {
	case err == nil:
		s.tell(ctx, append(s.took(answer, w), s.succeeded(p, w)...))
	case ctx.Err() != nil: // the program ends
	case divisible(err) && len(p.clusters) > 1:
		for _, half := range s.divide(p) {
			s.query(ctx, half, w)
		}
	default:
		stale := s.failed(p, err, w)
		s.report(ctx)
		s.tell(ctx, stale)
	}
}

// divisible returns true if a half of the page may succeed.
func divisible(err error) bool {
	var e *search.Error
	return errors.As(err, &e) && (e.Reason == search.TooLarge || e.Reason == search.Invalid)
}

// took stores an answer and returns the hub Applications with new facts. A missing Application in the answer brings no
// new fact: the index may lag behind, or the ServiceAccount may lack the right to see the Application.
func (s *Search) took(answer *search.Answer, w wanted) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	searchRejected.Add(float64(answer.Rejected))
	var changed []types.NamespacedName
	for key, found := range answer.Applications {
		searchRejected.Add(float64(found.Omitted))
		for _, app := range w[key] {
			if !s.same(app, key, found) {
				s.facts[app] = heard{of: key, facts: s.factsOf(found)}
				changed = append(changed, app)
			}
		}
	}
	return changed
}

// same returns true if the found facts equal the known facts.
func (s *Search) same(app types.NamespacedName, key search.Key, found *search.Application) bool {
	h, ok := s.facts[app]
	return ok && h.of == key && equality.Semantic.DeepEqual(h.facts.Status.Resources, found.Resources) &&
		equality.Semantic.DeepEqual(h.facts.Status.Conditions, found.Conditions)
}

// factsOf returns the facts from search: resources and conditions, without health and version.
func (s *Search) factsOf(found *search.Application) *observed.Facts {
	return &observed.Facts{
		Source:             s.Name(),
		ObservedAt:         metav1.NewTime(s.clock.Now()),
		Status:             argocd.Status{Resources: found.Resources, Conditions: found.Conditions},
		Detailed:           true,
		ConditionsComplete: true,
	}
}

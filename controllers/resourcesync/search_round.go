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

// atOnce is how many pages are asked for at a time, so that a slow one does not hold up all others.
const atOnce = 4

// wanted are the Applications to ask for, and which hub Applications each is the counterpart of.
type wanted map[search.Key][]types.NamespacedName

// round asks once for everything that is due.
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
			s.ask(ctx, p, w)
		})
	}
	asked.Wait()
	if ctx.Err() == nil {
		s.report(ctx)
	}
}

// wanted lists what the hub has sent to clusters.
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

// forget drops what is known of Applications that the hub does not have any more, or has elsewhere.
func (s *Search) forget(w wanted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.facts, func(app types.NamespacedName, h heard) bool {
		return !slices.Contains(w[h.of], app)
	})
}

// ask asks for a page and takes in what comes. A page whose answer cannot be used for its size or its form is asked
// for in halves, at once and from then on, so that one cluster is the trouble of nobody else.
func (s *Search) ask(ctx context.Context, p *page, w wanted) {
	answer, err := s.asker.Ask(ctx, p.wanted)
	switch {
	case err == nil:
		s.tell(ctx, append(s.took(answer, w), s.succeeded(p, w)...))
	case ctx.Err() != nil: // the program ends
	case divisible(err) && len(p.clusters) > 1:
		for _, half := range s.divide(p) {
			s.ask(ctx, half, w)
		}
	default:
		stale := s.failed(p, err, w)
		s.report(ctx)
		s.tell(ctx, stale)
	}
}

// divisible tells whether a part of a page may do better.
func divisible(err error) bool {
	var e *search.Error
	return errors.As(err, &e) && (e.Reason == search.TooLarge || e.Reason == search.Invalid)
}

// took keeps an answer and returns the hub Applications of which it says something new. Of an Application that the
// answer does not have nothing new is known: the index may be behind, or this ServiceAccount may not see it.
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

// same tells whether the Application was known to be so.
func (s *Search) same(app types.NamespacedName, key search.Key, found *search.Application) bool {
	h, ok := s.facts[app]
	return ok && h.of == key && equality.Semantic.DeepEqual(h.facts.Status.Resources, found.Resources) &&
		equality.Semantic.DeepEqual(h.facts.Status.Conditions, found.Conditions)
}

// factsOf are the facts that search can tell of: what is there and what is wrong, but neither health nor version.
func (s *Search) factsOf(found *search.Application) *observed.Facts {
	return &observed.Facts{
		Source:             s.Name(),
		ObservedAt:         metav1.NewTime(s.clock.Now()),
		Status:             argocd.Status{Resources: found.Resources, Conditions: found.Conditions},
		Detailed:           true,
		ConditionsComplete: true,
	}
}

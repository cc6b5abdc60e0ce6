package resourcesync

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/search"
)

// Querier answers for the Applications of a page of clusters.
type Querier interface {
	Query(ctx context.Context, wanted []search.Key) (*search.Answer, error)
}

// Search is the source for hubs with ACM Search. Search asks periodically, page by page, and keeps the answers. If a
// page fails, the page's facts stay as they were at the last success, and the other pages continue.
//
// Search runs on the leading replica, and wakes controllers only for Applications with new facts.
type Search struct {
	// Patience is how long a page may fail before its facts are marked stale.
	Patience time.Duration

	client   client.Reader
	querier  Querier
	interval time.Duration
	clock    clock.WithTicker
	jitter   func() float64

	mu        sync.Mutex
	facts     map[types.NamespacedName]heard
	pages     map[string]*page
	listeners []chan newsOf

	// reported is the last logged state of failures.
	reporting sync.Mutex
	reported  string
}

// heard are the facts from search about a hub Application's counterpart. The facts count only while the Application
// still has the same counterpart.
type heard struct {
	of    search.Key
	facts *observed.Facts
}

var (
	_ Source                         = &Search{}
	_ manager.Runnable               = &Search{}
	_ manager.LeaderElectionRunnable = &Search{}
)

// NewSearch creates the source. c reads the shared cache.
func NewSearch(c client.Reader, querier Querier, interval time.Duration) *Search {
	return &Search{
		Patience: defaultPatience,
		client:   c, querier: querier, interval: interval, clock: clock.RealClock{}, jitter: rand.Float64,
		facts: map[types.NamespacedName]heard{}, pages: map[string]*page{},
	}
}

// Name implements Source.
func (*Search) Name() string { return "search" }

// Facts implements Source.
func (s *Search) Facts(_ context.Context, app *argocd.Application) (*observed.Facts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.facts[client.ObjectKeyFromObject(app)]
	if !ok || h.of != counterpart(app) {
		return nil, nil //nolint:nilnil // documented
	}
	return h.facts, nil
}

// Changes implements Source.
func (s *Search) Changes(request func(types.NamespacedName) []reconcile.Request) source.Source {
	listener := make(chan newsOf)
	s.mu.Lock()
	s.listeners = append(s.listeners, listener)
	s.mu.Unlock()
	return source.Channel(listener, enqueue(request))
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Search) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. Start sends no requests if no controller listens.
func (s *Search) Start(ctx context.Context) error {
	if len(s.listeners) == 0 {
		return nil
	}
	ticker := s.clock.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		s.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// tell wakes the controllers for the given Applications.
func (s *Search) tell(ctx context.Context, apps []types.NamespacedName) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, app := range apps {
		for _, l := range listeners {
			select {
			case l <- newsOf{Object: app}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// counterpart returns the place of the Application on its cluster.
func counterpart(app *argocd.Application) search.Key {
	return search.Key{Cluster: app.Cluster(), Namespace: app.ClusterNamespace(), Name: app.Name}
}

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

// Asker answers for the Applications of a page of clusters.
type Asker interface {
	Ask(ctx context.Context, wanted []search.Key) (*search.Answer, error)
}

// Search is the source for hubs that have ACM Search. It asks again and again, page by page, and keeps what it
// heard: the facts of a page that fails are those of the last time it did not, and the other pages go on.
//
// It runs on the replica that leads, and tells controllers only of Applications of which it knows something new.
type Search struct {
	// Patience is how long the clusters of a page may not be answered for before what is known of them is said to be stale.
	Patience time.Duration

	client   client.Reader
	asker    Asker
	interval time.Duration
	clock    clock.WithTicker
	jitter   func() float64

	mu        sync.Mutex
	facts     map[types.NamespacedName]heard
	pages     map[string]*page
	listeners []chan newsOf

	// reported is what was last logged of failures.
	reporting sync.Mutex
	reported  string
}

// heard is what search has said of a hub Application's counterpart. It counts only while that is still the one.
type heard struct {
	of    search.Key
	facts *observed.Facts
}

var (
	_ Source                         = &Search{}
	_ manager.Runnable               = &Search{}
	_ manager.LeaderElectionRunnable = &Search{}
)

// NewSearch makes the source. c reads the shared cache.
func NewSearch(c client.Reader, asker Asker, interval time.Duration) *Search {
	return &Search{
		Patience: DefaultPatience,
		client:   c, asker: asker, interval: interval, clock: clock.RealClock{}, jitter: rand.Float64,
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

// Start implements manager.Runnable. Nobody is asked when no controller wants to know.
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

// tell wakes the controllers for the Applications that there is something new of.
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

// counterpart is where the Application is on its cluster.
func counterpart(app *argocd.Application) search.Key {
	return search.Key{Cluster: app.Cluster(), Namespace: app.ClusterNamespace(), Name: app.Name}
}

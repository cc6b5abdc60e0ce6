package server

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// patience is how long a request waits for a place. The agent of a cluster waits longer for the first byte.
	patience = time.Minute

	// maxWaiting is the maximum number of requests of a cluster, with the waiting requests. The agent of a cluster sends
	// fewer.
	maxWaiting = 64

	// maxQuestions is the maximum number of processes of git for answers about references. The answers are short, and must
	// not wait for the packs: the agent of a cluster repeats an earlier answer after ten seconds.
	maxQuestions = 16
)

// limits bound the answered requests at the same time. Further requests wait in order: Argo CD tries a refused request
// again only minutes later, and a commit makes all clusters ask at the same time.
type limits struct {
	byCluster      int64
	all, questions *semaphore.Weighted
	patience       time.Duration

	mu       sync.Mutex
	clusters map[string]*places
}

// places are the places of a cluster.
type places struct {
	*semaphore.Weighted
	requests int
}

func newLimits(all, byCluster int) *limits {
	return &limits{
		byCluster: int64(byCluster), all: semaphore.NewWeighted(int64(all)), questions: semaphore.NewWeighted(maxQuestions),
		patience: patience, clusters: map[string]*places{},
	}
}

// ofCluster takes a place for a request of a cluster, and returns the function that gives the place back. The bool is
// false without a free place in time.
func (l *limits) ofCluster(ctx context.Context, cluster string) (func(), bool) {
	l.mu.Lock()
	own := l.clusters[cluster]
	if own == nil {
		own = &places{Weighted: semaphore.NewWeighted(l.byCluster)}
		l.clusters[cluster] = own
	}
	own.requests++
	full := own.requests > maxWaiting
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.requests--; own.requests == 0 {
			delete(l.clusters, cluster)
		}
	}
	if full || !l.take(ctx, own.Weighted) {
		leave()
		return nil, false
	}
	return func() {
		own.Release(1)
		leave()
	}, true
}

// of takes one of the places for processes of git, and returns the function that gives the place back. The bool is false
// without a free place in time.
func (l *limits) of(ctx context.Context, places *semaphore.Weighted) (func(), bool) {
	if !l.take(ctx, places) {
		return nil, false
	}
	return func() { places.Release(1) }, true
}

func (l *limits) take(ctx context.Context, from *semaphore.Weighted) bool {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	return from.Acquire(ctx, 1) == nil
}

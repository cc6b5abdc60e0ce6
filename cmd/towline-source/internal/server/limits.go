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

	// maxWrites is the maximum number of managed resources that are read at the same time. A read needs up to 100 MB of
	// memory.
	maxWrites = 4
)

// limits bound the answered requests at the same time. Further requests wait in order: Argo CD tries a refused request
// again only minutes later, and a commit makes all clusters ask at the same time.
type limits struct {
	byCluster              int64
	all, questions, writes *semaphore.Weighted
	patience               time.Duration
	busy                   busy

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
		writes: semaphore.NewWeighted(maxWrites), patience: patience, clusters: map[string]*places{},
	}
}

// enter counts a request of a cluster, and returns the cluster's places, and the function for the end of the request. The
// bool is false if the cluster has too many requests.
func (l *limits) enter(cluster string) (own *semaphore.Weighted, leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.clusters[cluster]
	if c == nil {
		c = &places{Weighted: semaphore.NewWeighted(l.byCluster)}
		l.clusters[cluster] = c
	}
	if c.requests >= maxWaiting {
		return nil, nil, false
	}
	c.requests++
	return c.Weighted, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.requests--; c.requests == 0 {
			delete(l.clusters, cluster)
		}
	}, true
}

// take takes one of each kind of places, and returns the function that gives the places back. take fails without free
// places in time.
func (l *limits) take(ctx context.Context, kinds ...*semaphore.Weighted) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	taken := 0
	done = func() {
		for _, places := range kinds[:taken] {
			places.Release(1)
		}
	}
	for _, places := range kinds {
		if places.Acquire(ctx, 1) != nil {
			done()
			return nil, errTooMany
		}
		taken++
	}
	return done, nil
}

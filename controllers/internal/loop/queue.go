package loop

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// IsStandby returns true if this replica does not lead. elected is the channel of manager.Manager.Elected.
func IsStandby(elected <-chan struct{}) bool {
	select {
	case <-elected:
		return false
	default:
		return true
	}
}

// slack is how many requests a waiting replica may hold beyond twice the known requests.
const slack = 1024

// StandbyQueue returns a constructor for the queue of a controller with warm-up (controller-runtime 0.25.2). While the
// replica waits, the watches fill the queue and no worker empties the queue. Requests of deleted objects are dropped:
// known returns true for a request with something to do. On election, the queue hands out the remaining requests group
// by group.
func StandbyQueue(
	elected <-chan struct{}, known func(reconcile.Request) bool, group func(reconcile.Request) string,
) func(string, workqueue.TypedRateLimiter[reconcile.Request]) RequestQueue {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) RequestQueue {
		q := &queue{
			RequestQueue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name}),
			known:        known,
			group:        group,
			held:         map[reconcile.Request]bool{},
			ended:        make(chan struct{}),
		}
		go q.lead(elected)
		return q
	}
}

// RequestQueue is the queue of a controller.
type RequestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queue holds the added requests until the replica leads.
type queue struct {
	RequestQueue
	known func(reconcile.Request) bool
	group func(reconcile.Request) string
	ended chan struct{}
	once  sync.Once

	mu    sync.Mutex
	held  map[reconcile.Request]bool // nil once the replica leads
	swept int                        // number of requests left by the last sweep
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(req reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == nil {
		q.RequestQueue.Add(req)
		return
	}
	q.held[req] = true
	if len(q.held) > 2*q.swept+slack {
		q.sweep()
	}
}

// sweep drops the unknown requests.
func (q *queue) sweep() {
	for req := range q.held {
		if !q.known(req) {
			delete(q.held, req)
		}
	}
	q.swept = len(q.held)
}

// lead passes the held requests on once the replica leads.
func (q *queue) lead(elected <-chan struct{}) {
	select {
	case <-elected:
	case <-q.ended:
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sweep()
	groups := map[string][]reconcile.Request{}
	for req := range q.held {
		group := q.group(req)
		groups[group] = append(groups[group], req)
	}
	for _, requests := range groups {
		for _, req := range requests {
			q.RequestQueue.Add(req)
		}
	}
	q.held = nil
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.once.Do(func() { close(q.ended) })
	q.RequestQueue.ShutDown()
}

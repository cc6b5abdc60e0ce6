package leaderless

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waits tells whether another replica leads, by what manager.Manager.Elected returns.
func Waits(elected <-chan struct{}) bool {
	select {
	case <-elected:
		return false
	default:
		return true
	}
}

// slack is how many requests a replica that waits may hold beyond twice those that are known.
const slack = 1024

// Queue makes the queue of a controller that warms up (controller-runtime v0.23): its watches fill the queue as long as the
// replica waits, while nobody takes anything out. What has come and gone meanwhile is dropped: known tells what there is
// something to do for. What is left is handed out group by group.
func Queue(
	elected <-chan struct{}, known func(reconcile.Request) bool, group func(reconcile.Request) string,
) func(string, workqueue.TypedRateLimiter[reconcile.Request]) Requests {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) Requests {
		q := &queue{
			Requests: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name}),
			known:    known,
			group:    group,
			held:     map[reconcile.Request]bool{},
			ended:    make(chan struct{}),
		}
		go q.lead(elected)
		return q
	}
}

// Requests is the queue of a controller.
type Requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queue holds what is added until the replica leads.
type queue struct {
	Requests
	known func(reconcile.Request) bool
	group func(reconcile.Request) string
	ended chan struct{}
	once  sync.Once

	mu    sync.Mutex
	held  map[reconcile.Request]bool // nil once the replica leads
	swept int                        // how many were left when the unknown ones were dropped last
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(req reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == nil {
		q.Requests.Add(req)
		return
	}
	q.held[req] = true
	if len(q.held) > 2*q.swept+slack {
		q.sweep()
	}
}

// sweep drops what there is nothing to do for.
func (q *queue) sweep() {
	for req := range q.held {
		if !q.known(req) {
			delete(q.held, req)
		}
	}
	q.swept = len(q.held)
}

// lead passes on what is held once the replica leads.
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
			q.Requests.Add(req)
		}
	}
	q.held = nil
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.once.Do(func() { close(q.ended) })
	q.Requests.ShutDown()
}

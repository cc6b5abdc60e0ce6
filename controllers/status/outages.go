package status

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pace of reconciles for changed clusters: Applications for each second, the burst, and the Applications of one cluster
// before the turn of the next cluster. All remaining reconciles run in between: an outage of a site with 5,000
// Applications must not delay a change elsewhere. Those 5,000 take ten seconds.
const (
	outagePace  = 500
	outageBurst = 50
	outageTurn  = 10
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// outages are the clusters with a changed availability, whose Applications need a reconcile. A cluster is listed once,
// even after many changes. The clusters take turns, so an unstable cluster gets only its share.
type outages struct {
	// applications returns the Applications of a cluster.
	applications func(ctx context.Context, cluster string) []types.NamespacedName

	mu      sync.Mutex
	turns   []string
	waiting map[string]*outage
	noted   chan struct{}
}

// outage is the progress through the Applications of one cluster.
type outage struct {
	// left are the Applications without a reconcile in this round.
	left []types.NamespacedName

	// again is set if the availability has changed since the begin of this round: a further round follows.
	again bool
}

func newOutages(applications func(context.Context, string) []types.NamespacedName) *outages {
	return &outages{applications: applications, waiting: map[string]*outage{}, noted: make(chan struct{}, 1)}
}

// note adds a cluster after a change of its availability.
func (o *outages) note(cluster string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w, ok := o.waiting[cluster]; ok {
		w.again = true
		return
	}
	o.waiting[cluster] = &outage{again: true}
	o.turns = append(o.turns, cluster)
	select {
	case o.noted <- struct{}{}:
	default: // feed has an unread signal already
	}
}

// next returns a few Applications of the cluster whose turn it is; none if no cluster waits.
func (o *outages) next(ctx context.Context) []types.NamespacedName {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.turns) > 0 {
		cluster := o.turns[0]
		o.turns = o.turns[1:]
		w := o.waiting[cluster]
		if len(w.left) == 0 {
			w.left, w.again = o.applications(ctx, cluster), false
		}
		n := min(outageTurn, len(w.left))
		apps := w.left[:n]
		if w.left = w.left[n:]; len(w.left) > 0 || w.again {
			o.turns = append(o.turns, cluster)
		} else {
			delete(o.waiting, cluster)
		}
		if n > 0 {
			return apps
		}
	}
	return nil
}

// feed queues the Applications of the clusters at the given pace, until ctx ends.
func (o *outages) feed(ctx context.Context, q queue, pace *rate.Limiter) {
	for {
		apps := o.next(ctx)
		if len(apps) == 0 {
			select {
			case <-o.noted:
				continue
			case <-ctx.Done():
				return
			}
		}
		if pace.WaitN(ctx, len(apps)) != nil {
			return
		}
		for _, app := range apps {
			q.Add(reconcile.Request{NamespacedName: app})
		}
	}
}

// source starts feed for the controller's queue.
func (o *outages) source(ctx context.Context, q queue) error {
	go o.feed(ctx, q, rate.NewLimiter(outagePace, outageBurst))
	return nil
}

// handler notes the cluster of every event.
func (o *outages) handler() handler.EventHandler {
	note := func(cluster client.Object) { o.note(cluster.GetName()) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { note(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { note(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { note(e.Object) },
	}
}

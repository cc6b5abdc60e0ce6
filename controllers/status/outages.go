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

// How many Applications a second are looked at because their cluster has come or gone, how many at once, and how many of
// one cluster before it is the turn of the next one. What else happens to Applications is looked at in between: a site
// that goes dark with 5,000 of them must not keep a change elsewhere waiting. Those 5,000 take ten seconds.
const (
	outagePace  = 500
	outageBurst = 50
	outageTurn  = 10
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// outages are the clusters that have come or gone, and whose Applications have to be looked at. A cluster is in it once,
// however often it comes and goes, and clusters take turns: one that never rests takes no more than its share.
type outages struct {
	// applications are those of a cluster.
	applications func(ctx context.Context, cluster string) []types.NamespacedName

	mu      sync.Mutex
	turns   []string
	waiting map[string]*outage
	noted   chan struct{}
}

// outage is how far the Applications of one cluster have been looked at.
type outage struct {
	// left are those that have not been looked at in this round.
	left []types.NamespacedName

	// again is set when the cluster has come or gone since this round began: another one follows.
	again bool
}

func newOutages(applications func(context.Context, string) []types.NamespacedName) *outages {
	return &outages{applications: applications, waiting: map[string]*outage{}, noted: make(chan struct{}, 1)}
}

// note takes down that a cluster has come or gone.
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
	default: // it was told of another one, and has not looked yet
	}
}

// next are a few Applications of the cluster whose turn it is; none when no cluster waits.
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

// feed asks for the reconcile of those Applications, one after the other, until ctx ends.
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

// source starts to feed the controller's queue.
func (o *outages) source(ctx context.Context, q queue) error {
	go o.feed(ctx, q, rate.NewLimiter(outagePace, outageBurst))
	return nil
}

// handler takes down every event of a cluster that reaches it.
func (o *outages) handler() handler.EventHandler {
	note := func(cluster client.Object) { o.note(cluster.GetName()) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { note(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { note(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { note(e.Object) },
	}
}

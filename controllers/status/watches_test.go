package status

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// site is a hub with the given number of Applications on each cluster.
type site map[string]int

func (s site) applications(_ context.Context, cluster string) []types.NamespacedName {
	apps := make([]types.NamespacedName, s[cluster])
	for i := range apps {
		apps[i] = types.NamespacedName{Namespace: cluster, Name: fmt.Sprint(i)}
	}
	return apps
}

// drain returns the clusters of all queued Applications, in order, until no cluster waits.
func drain(t *testing.T, o *outages) (order []string) {
	t.Helper()
	for apps := o.next(t.Context()); len(apps) > 0; apps = o.next(t.Context()) {
		if len(apps) > outageTurn {
			t.Errorf("%d Applications of one cluster in one turn", len(apps))
		}
		for _, app := range apps {
			order = append(order, app.Namespace)
		}
	}
	if len(o.waiting)+len(o.turns) > 0 {
		t.Errorf("something is kept of clusters that do not wait: %v, %v", o.waiting, o.turns)
	}
	return order
}

// last returns the number of reconciles until all Applications of the given cluster are done.
func last(order []string, cluster string) int {
	for i := len(order); i > 0; i-- {
		if order[i-1] == cluster {
			return i
		}
	}
	return 0
}

func TestOutagesTakeTurns(t *testing.T) {
	hub := site{"large": 5000, "small": 10, "empty": 0, "other": 25}
	o := newOutages(hub.applications)
	for range 1000 {
		o.note("large")
	}
	for _, cluster := range []string{"empty", "small", "other"} {
		o.note(cluster)
	}
	order := drain(t, o)
	if len(order) != 5035 {
		t.Fatalf("%d of 5035 Applications are looked at", len(order))
	}
	if n := last(order, "small"); n > 20 {
		t.Errorf("those of the small cluster come after %d", n)
	}
	if n := last(order, "other"); n > 80 {
		t.Errorf("those of the other cluster come after %d", n)
	}
}

// TestAnOutageThatChanges: after a new change of a cluster, all current Applications of the cluster get one more round,
// and no further rounds.
func TestAnOutageThatChanges(t *testing.T) {
	hub := site{"a": 30}
	o := newOutages(hub.applications)
	o.note("a")
	o.next(t.Context())
	hub["a"] = 50
	for range 1000 {
		o.note("a")
	}
	if got := len(drain(t, o)); got != 20+50 {
		t.Errorf("%d are looked at, want the other 20 and then all 50", got)
	}
}

// counting is a queue that sends its requests to a channel.
type counting struct {
	queue
	added chan reconcile.Request
}

func (c *counting) Add(r reconcile.Request) { c.added <- r }

// TestOutagesTakeALateCluster: a cluster noted after the end of all rounds is fed too.
func TestOutagesTakeALateCluster(t *testing.T) {
	o := newOutages(site{"a": 25, "b": 1}.applications)
	q := &counting{added: make(chan reconcile.Request)}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { o.feed(ctx, q, rate.NewLimiter(rate.Inf, outageBurst)); close(ended) }()
	for range 3 {
		o.note("a")
		for range 25 {
			<-q.added
		}
		o.note("b")
		if got := <-q.added; got.Namespace != "b" {
			t.Errorf("got %s", got)
		}
	}
	cancel()
	<-ended
}

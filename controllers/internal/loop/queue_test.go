package loop_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/loop"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "x", Name: name}}
}

// groupOf returns the first letter of a name.
func groupOf(req reconcile.Request) string { return req.Name[:1] }

func known(reconcile.Request) bool { return true }

// TestGroups: the queue hands out the held requests group by group.
func TestGroups(t *testing.T) {
	elected := make(chan struct{})
	q := loop.StandbyQueue(elected, known, groupOf)("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	const groups, each = 5, 10
	for n := range each {
		for g := range groups {
			q.Add(request(fmt.Sprintf("%c%d", 'a'+g, n)))
		}
	}
	close(elected)
	changes, last := 0, ""
	for range groups * each {
		req, _ := q.Get()
		if g := groupOf(req); g != last {
			changes, last = changes+1, g
		}
		q.Done(req)
	}
	if changes != groups {
		t.Errorf("it went %d times to another one of %d groups", changes, groups)
	}
}

// TestQueue: the queue holds added requests until the replica leads, and drops the requests of objects deleted by then.
func TestQueue(t *testing.T) {
	elected, there, asked := make(chan struct{}), map[string]bool{"a": true, "b": true}, 0
	q := loop.StandbyQueue(elected, func(req reconcile.Request) bool { asked++; return there[req.Name] }, groupOf)("test",
		workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	q.Add(request("a"))
	const gone = 100_000
	for n := range gone {
		q.Add(request(fmt.Sprint(n)))
	}
	q.Add(request("b"))
	if q.Len() != 0 {
		t.Fatal("it hands out while another replica leads")
	}
	if asked < gone-2000 || asked > 2*gone {
		t.Errorf("it asked %d times what is known, for %d that are gone", asked, gone)
	}
	close(elected)
	got := map[string]bool{}
	for range 2 {
		req, _ := q.Get()
		got[req.Name] = true
		q.Done(req)
	}
	if !got["a"] || !got["b"] || q.Len() != 0 {
		t.Errorf("got %v, and %d more", got, q.Len())
	}
	q.Add(request("gone")) // a leader queues unknown requests too
	if req, _ := q.Get(); req.Name != "gone" {
		t.Errorf("got %v", req)
	}
	q.ShutDown()
}

// TestQueueOfAReplicaThatNeverLeads: the queue of a replica that never leads ends at ShutDown.
func TestQueueOfAReplicaThatNeverLeads(t *testing.T) {
	q := loop.StandbyQueue(make(chan struct{}), known, groupOf)("test",
		workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	q.Add(request("a"))
	q.ShutDown()
	q.ShutDown()
	if _, down := q.Get(); !down {
		t.Error("it hands out")
	}
}

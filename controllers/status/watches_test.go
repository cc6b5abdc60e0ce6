package status

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// darkSite is a hub with so many Applications on every cluster.
type darkSite struct {
	client.Client
	apps int
}

func (d *darkSite) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for i := range d.apps {
		list.(*argocd.ApplicationList).Items = append(list.(*argocd.ApplicationList).Items, *fixture.Application(fmt.Sprint(i)).Obj())
	}
	return nil
}

// delays are for how long requests are put off.
type delays struct {
	queue
	all []time.Duration
}

func (d *delays) AddAfter(_ reconcile.Request, by time.Duration) { d.all = append(d.all, by) }

// TestAnOutageIsSpread: what happens elsewhere finds a queue that is nearly empty.
func TestAnOutageIsSpread(t *testing.T) {
	q := &delays{}
	r := &Reconciler{Client: &darkSite{apps: 1000}}
	h := r.paced(rate.NewLimiter(outagePace, outageBurst))
	for range 5 {
		c := &clusterv1.ManagedCluster{}
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: c, ObjectNew: c}, q)
	}
	if len(q.all) != 5000 {
		t.Fatalf("%d of 5000 Applications are looked at", len(q.all))
	}
	atOnce := 0
	for _, d := range q.all {
		if d < 100*time.Millisecond {
			atOnce++
		}
	}
	if last := q.all[len(q.all)-1]; atOnce > outageBurst+outagePace/5 || last > 11*time.Second {
		t.Errorf("%d at once, the last after %s", atOnce, last)
	}
}

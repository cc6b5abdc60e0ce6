package status

import (
	"context"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// How many Applications a second are looked at because their cluster has come or gone, and how many at once. What
// else happens to Applications is looked at in between: a site that goes dark with 5,000 of them must not keep a
// change elsewhere waiting. Those 5,000 take ten seconds.
const (
	outagePace  = 500
	outageBurst = 50
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
//
// Every change of an Application is looked at, our own writes included: a comparison in memory finds that there is
// nothing to do, and what someone else wrote over is put right. The cache's own resync, every few hours, is no change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&argocd.Application{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&clusterv1.ManagedCluster{}, r.paced(rate.NewLimiter(outagePace, outageBurst)),
			builder.WithPredicates(availabilityChanged())).
		WithOptions(retry.Options(concurrency))
	for _, s := range r.Inventory.Sources {
		b.WatchesRawSource(s.Changes(itself))
	}
	return b.Complete(r)
}

// itself asks for the reconcile of the Application that there are new facts of.
func itself(app types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: app}}
}

// availabilityChanged lets through what decides whether a cluster can be heard of. At the start every Application is
// looked at anyway.
func availabilityChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return managedcluster.Unreachable(e.ObjectOld.(*clusterv1.ManagedCluster)) != managedcluster.Unreachable(e.ObjectNew.(*clusterv1.ManagedCluster))
		},
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// paced asks for the reconcile of a cluster's Applications, one after the other, across all clusters.
func (r *Reconciler) paced(pace *rate.Limiter) handler.EventHandler {
	enqueue := func(ctx context.Context, cluster client.Object, q queue) {
		for _, app := range index.ApplicationsOfCluster(ctx, r, cluster.GetName()) {
			q.AddAfter(reconcile.Request{NamespacedName: app}, pace.Reserve().Delay())
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// SetupWithManager registers the controller. concurrency is the number of parallel reconciles.
//
// Every change of an Application starts a reconcile, including our own writes. After our own write, a comparison in
// memory finds no difference. After a write by somebody else, the controller restores the status. The cache's own
// resync, every few hours, is no change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := informer.OnEveryReplica(mgr.GetCache(), &argocd.Application{}, &clusterv1.ManagedCluster{}); err != nil {
		return err
	}
	r.former = newFormerSpecs()
	clusters := newOutages(func(ctx context.Context, cluster string) []types.NamespacedName {
		return index.ApplicationsOfCluster(ctx, r.Client, cluster)
	})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&argocd.Application{}, builder.WithPredicates(r.former.changes())).
		Watches(&clusterv1.ManagedCluster{}, clusters.handler(), builder.WithPredicates(availabilityChanged())).
		WatchesRawSource(source.Func(clusters.source)).
		WithOptions(loop.LeaderOptions(concurrency))
	for _, s := range r.Inventory.Sources {
		b.WatchesRawSource(s.Changes(r.hear))
	}
	return b.Complete(r)
}

// hear queues the Application after new facts.
func (r *Reconciler) hear(app types.NamespacedName) []reconcile.Request {
	r.reported.Note(app, time.Now())
	return []reconcile.Request{{NamespacedName: app}}
}

// availabilityChanged selects changes of the availability of a cluster. At the start, the controller reconciles every
// Application anyway.
func availabilityChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return managedcluster.CameOrWent(e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster))
		},
	}
}

package decisions

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// SetupWithManager registers the controller. concurrency is the number of Placements that are reconciled in parallel.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := informer.OnEveryReplica(mgr.GetCache(), &clusterv1.ManagedCluster{}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("decisions").
		Watches(&clusterv1beta1.PlacementDecision{}, r.changes()).
		WithOptions(loop.LeaderOptions(concurrency)).
		Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// changes queues the Placement of a decision with a changed set of clusters. The decisions of the initial list are no
// change.
func (r *Reconciler) changes() handler.EventHandler {
	add := func(q queue, obj client.Object, before, after []string) {
		key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetLabels()[clusterv1beta1.PlacementLabel]}
		if key.Name != "" {
			r.changed.note(key, before, after)
			q.AddAfter(reconcile.Request{NamespacedName: key}, burst)
		}
	}
	of := func(obj client.Object) []string {
		return clusterimport.Decided(obj.(*clusterv1beta1.PlacementDecision))
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList && len(of(e.Object)) > 0 {
				add(q, e.Object, nil, of(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*clusterv1beta1.PlacementDecision), e.ObjectNew.(*clusterv1beta1.PlacementDecision)
			if !clusterimport.SameDecision(before, after) {
				add(q, after, of(before), of(after))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(q, e.Object, of(e.Object), nil) },
	}
}

package placement

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Kinds are the kinds that the controller needs and a hub may lack.
var Kinds = []schema.GroupVersionKind{schema.GroupVersion(clusterv1beta1.GroupVersion).WithKind("PlacementDecision")}

// SetupWithManager registers the controller. concurrency is the number of parallel reconciles.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := informer.OnEveryReplica(mgr.GetCache(), &argocd.Application{}, &clusterv1beta1.PlacementDecision{}); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("placement").WithOptions(loop.LeaderOptions(concurrency))
	return loop.Register(b, []loop.Watch{
		loop.WatchSelf(&argocd.Application{}, changed()),
		loop.WatchOf(&clusterv1beta1.PlacementDecision{}, r.followers),
	}).Complete(r)
}

// followers returns the Applications with the Placement of a PlacementDecision.
func (r *Reconciler) followers(ctx context.Context, decision client.Object) []reconcile.Request {
	name := decision.GetLabels()[clusterv1beta1.PlacementLabel]
	if name == "" {
		return nil
	}
	return loop.Requests(index.Followers(ctx, r.Client, decision.GetNamespace(), name))
}

// facts are the fields of an Application that the decision reads, and the written warning.
type facts struct {
	placement, cluster, set string
	pulled, deleting        bool
	warning                 string
}

func factsOf(app *argocd.Application) facts {
	f := facts{placement: app.Placement(), cluster: app.Cluster(), pulled: app.Pulled(), deleting: !app.DeletionTimestamp.IsZero()}
	f.set, _ = app.ApplicationSet()
	if i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionPlacementWarning); i >= 0 {
		f.warning = app.Status.Conditions[i].Message
	}
	return f
}

// concerned reports whether the Application has a Placement or a warning of this controller.
func (f facts) concerned() bool { return f.placement != "" || f.warning != "" }

// changed selects the changes of facts, for Applications that have or had a Placement.
func changed() predicate.Predicate {
	of := func(obj client.Object) facts { return factsOf(obj.(*argocd.Application)) }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return of(e.Object).concerned() },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := of(e.ObjectOld), of(e.ObjectNew)
			return before != after && (before.concerned() || after.concerned())
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return of(e.Object).concerned() }, // the Application may still exist, without the pull label
	}
}

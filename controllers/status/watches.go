package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// What failed is tried again after this long at first and at the latest.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
//
// Every change of an Application is looked at, our own writes included: a comparison in memory finds that there is
// nothing to do, and what someone else wrote over is put right.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&argocd.Application{}).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(r.applicationsOfWork),
			builder.WithPredicates(reportChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// reportChanged lets through what the work agent reports, not what the hub writes to a work.
func reportChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork)
			return !equality.Semantic.DeepEqual(before.Status, after.Status)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// applicationsOfWork is the Application that must have this work, as the hub has it.
func (r *Reconciler) applicationsOfWork(ctx context.Context, obj client.Object) []reconcile.Request {
	apps := &argocd.ApplicationList{}
	match := client.MatchingFields{index.ByWork: client.ObjectKeyFromObject(obj).String()}
	if err := r.List(ctx, apps, match, client.UnsafeDisableDeepCopy); err != nil {
		// A read of an index in memory fails only when the index is not registered: a mistake in the program.
		ctrl.LoggerFrom(ctx).Error(err, "Cannot look up the Application of a ManifestWork")
		return nil
	}
	requests := make([]reconcile.Request, len(apps.Items))
	for i := range apps.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&apps.Items[i])
	}
	return requests
}

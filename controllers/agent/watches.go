package agent

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// byWork finds the Applications that carry the mark of a ManifestWork.
	byWork = "work"

	// What failed is tried again after this long at first and at the latest. The latter is how late the agent may
	// notice that the hub is back.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 15 * time.Second

	// hubPatience is how long the agent waits for the hub after a start. It has nothing better to do.
	hubPatience = 365 * 24 * time.Hour

	// impatience is how often it says so.
	impatience = 30 * time.Second
)

// Add registers the agent of that cluster namespace with a manager of the managed cluster. hub must be from NewHub, and
// notComparedAfter is the Reconciler's.
func Add(ctx context.Context, mgr ctrl.Manager, hub cluster.Cluster, namespace string, notComparedAfter time.Duration) error {
	if err := mgr.Add(hub); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &argocd.Application{}, byWork, workOf); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return sayWhenAway(ctx, hub) })); err != nil {
		return err
	}
	r := &Reconciler{
		Cluster: mgr.GetClient(), Hub: hub.GetClient(), Works: hub.GetAPIReader(), Namespace: namespace, NotComparedAfter: notComparedAfter,
	}
	return r.setup(mgr, hub)
}

// sayWhenAway tells whoever reads the log why nothing happens after a start: client-go says nothing of a hub that
// refuses connections.
func sayWhenAway(ctx context.Context, hub cluster.Cluster) error {
	for ctx.Err() == nil {
		patience, cancel := context.WithTimeout(ctx, impatience)
		reached := hub.GetCache().WaitForCacheSync(patience)
		cancel()
		if reached {
			return nil
		}
		ctrl.LoggerFrom(ctx).Info("The hub has not been reached yet", "hub", hub.GetConfig().Host)
	}
	return nil
}

func (r *Reconciler) setup(mgr ctrl.Manager, hub cluster.Cluster) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("agent").
		For(&argocd.Application{}).
		WatchesRawSource(source.Kind(hub.GetCache(), reportMetadata(), r.applicationsOfReport(), changedByOthers())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			CacheSyncTimeout:        hubPatience,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

func workOf(obj client.Object) []string { return []string{obj.GetAnnotations()[apis.AnnotationWork]} }

// applicationsOfReport asks for the reconcile of the Applications that a report may be on.
func (r *Reconciler) applicationsOfReport() handler.TypedEventHandler[*metav1.PartialObjectMetadata, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, report *metav1.PartialObjectMetadata) []reconcile.Request {
		apps := &argocd.ApplicationList{}
		if err := r.Cluster.List(ctx, apps, client.MatchingFields{byWork: report.Name}); err != nil {
			panic(err) // the index was never registered
		}
		requests := make([]reconcile.Request, len(apps.Items))
		for i := range apps.Items {
			requests[i].NamespacedName = client.ObjectKeyFromObject(&apps.Items[i])
		}
		return requests
	})
}

// changedByOthers lets through what makes a report need to be written again: that it is gone, or says another thing.
// When the agent starts, the Applications themselves ask for a comparison.
func changedByOthers() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		CreateFunc: func(event.TypedCreateEvent[*metav1.PartialObjectMetadata]) bool { return false },
	}
}

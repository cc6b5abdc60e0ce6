package aggregation

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/report"
)

// SetupWithManager registers the controller. concurrency is how many ApplicationSets are worked on at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	measured.Store(&r.memory)
	b := ctrl.NewControllerManagedBy(mgr).
		Named("aggregation").
		For(&v1alpha1.MulticlusterApplicationSetReport{}, builder.OnlyMetadata).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(r.setOfApplication),
			builder.WithPredicates(applicationChanged())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.setsOfCluster),
			builder.WithPredicates(availabilityChanged())).
		WithOptions(retry.Options(concurrency))
	for _, s := range r.Inventory.Sources {
		b.WatchesRawSource(s.Changes(r.ofSource))
	}
	return b.Complete(r)
}

// applicationChanged lets through what a row takes from the hub Application itself. What its cluster reports comes
// from the inventory; the status that is written from the same is not looked at twice.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		was, _ := index.SetOf(before)
		is, _ := index.SetOf(after)
		return was != is ||
			owner(before) != owner(after) ||
			report.App(before) != report.App(after) ||
			before.ClusterNamespace() != after.ClusterNamespace() ||
			!slices.EqualFunc(report.HubConditions(before), report.HubConditions(after), func(a, b argocd.Condition) bool {
				return a.Type == b.Type && a.Message == b.Message
			})
	}}
}

// owner is the UID of the ApplicationSet.
func owner(app *argocd.Application) types.UID {
	if ref := metav1.GetControllerOf(app); ref != nil {
		return ref.UID
	}
	return ""
}

// availabilityChanged lets through what decides whether a cluster can be heard of, and since when.
func availabilityChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return report.CameOrWent(e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster))
	}}
}

// setOfApplication is asked for the old and for the new of an Application, so that a set which it has left hears of it.
func (r *Reconciler) setOfApplication(_ context.Context, obj client.Object) []reconcile.Request {
	return r.requests(obj.(*argocd.Application))
}

// ofSource is for sources, which know Applications by name. The cache, which is all that is asked, needs no context.
func (r *Reconciler) ofSource(name types.NamespacedName) []reconcile.Request {
	return r.setOfName(context.Background(), name)
}

func (r *Reconciler) setOfName(ctx context.Context, name types.NamespacedName) []reconcile.Request {
	app := &argocd.Application{}
	if err := r.Get(ctx, name, app, client.UnsafeDisableDeepCopy); err != nil {
		return nil // it is gone, which is an event of its own
	}
	return r.requests(app)
}

func (r *Reconciler) setsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range index.ApplicationsOfCluster(ctx, r, cluster.GetName()) {
		out = append(out, r.setOfName(ctx, name)...)
	}
	return out
}

// requests notes that the Application has to be looked at, and asks for the reconcile that does it.
func (r *Reconciler) requests(app *argocd.Application) []reconcile.Request {
	set, ok := index.SetOf(app)
	if !ok {
		return nil
	}
	r.memory.set(set).mark(time.Now(), client.ObjectKeyFromObject(app))
	return []reconcile.Request{{NamespacedName: set}}
}

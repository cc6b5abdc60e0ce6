package resourcetree

import (
	"bytes"
	"context"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// SetupWithManager registers the controller. concurrency is the number of parallel reconciles.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := informer.OnEveryReplica(mgr.GetCache(), &argocd.Application{}); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("resourcetree").
		For(&argocd.Application{}, builder.WithPredicates(changed())).
		WithOptions(loop.LeaderOptions(concurrency))
	for _, s := range r.Changes {
		b.WatchesRawSource(s.Changes(itself))
	}
	if r.Access != nil {
		paths := r.Access.Paths.cache
		loop.AddWatches(b, r.watchesOfAccess()).
			WatchesRawSource(source.Kind(paths, &corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofSecret))).
			WatchesRawSource(source.Kind(paths, &corev1.ConfigMap{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofSettings), hubEnabledChanged()))
	}
	return b.Complete(r)
}

// itself returns the request for an Application.
func itself(app types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: app}}
}

// watchesOfAccess wake Applications when a condition of their access changes: a live entry must not outlive its grant
// or its work. The watches of Access.Paths use a separate cache.
func (r *Reconciler) watchesOfAccess() []loop.Watch {
	return append(r.Access.Grants.Watches(),
		loop.WatchOf(&workv1.ManifestWork{}, r.ofWork, deliveryChanged()),
		loop.WatchOf(&clusterv1.ManagedCluster{}, r.ofCluster, clusterChanged()),
		loop.WatchOf(settings.ClusterNamespace(), r.ofCluster, settings.ClusterFactsChanged()))
}

// ofWork returns requests for the Applications that must have the work.
func (r *Reconciler) ofWork(ctx context.Context, w client.Object) []reconcile.Request {
	return loop.Requests(index.ApplicationsOfWork(ctx, r.Client, client.ObjectKeyFromObject(w)))
}

// ofCluster returns requests for the Applications of a cluster.
func (r *Reconciler) ofCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return loop.Requests(index.ApplicationsOfCluster(ctx, r.Client, cluster.GetName()))
}

// deliveryChanged passes the changes of a work read by work.Delivered.
func deliveryChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork)
		return before.UID != after.UID || before.Generation != after.Generation ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!maps.Equal(before.Annotations, after.Annotations) || work.Outcome(before) != work.Outcome(after)
	}}
}

// clusterChanged passes changes of the facts about a cluster. Labels are facts too: labels select clusters for sets.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return managedcluster.Changed(e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster))
	}}
}

// ofSecret returns requests for the Applications of the Secret's labelled cluster, and of the cluster with the Secret's
// name: a second Secret of the same name blocks the path of the first Secret.
func (r *Reconciler) ofSecret(ctx context.Context, s *corev1.Secret) []reconcile.Request {
	p := clustersecret.PlaceOf(s)
	keys := index.ApplicationsOfCluster(ctx, r.Client, p.Cluster)
	if p.Name != p.Cluster {
		keys = append(keys, index.ApplicationsOfCluster(ctx, r.Client, p.Name)...)
	}
	return loop.Requests(keys)
}

// ofSettings returns requests for all Applications.
func (r *Reconciler) ofSettings(ctx context.Context, _ *corev1.ConfigMap) []reconcile.Request {
	return loop.Requests(index.AllApplications(ctx, r.Client))
}

// hubEnabledChanged passes changes of the key hubEnabled.
func hubEnabledChanged() predicate.TypedPredicate[*corev1.ConfigMap] {
	return predicate.TypedFuncs[*corev1.ConfigMap]{UpdateFunc: func(e event.TypedUpdateEvent[*corev1.ConfigMap]) bool {
		return e.ObjectOld.Data[hubEnabled] != e.ObjectNew.Data[hubEnabled]
	}}
}

// changed passes changes of an Application's fields used by its entry, and a new refresh. A change of the status's
// resources mostly follows new facts in the inventory. The entry never shows the resources of the status.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		return shown(before) != shown(after) || index.Target(before) != index.Target(after) || !bytes.Equal(before.Spec.Raw, after.Spec.Raw) ||
			after.Refresh() != "" && before.Refresh() == "" ||
			!reflect.DeepEqual(before.Status.Resources, after.Status.Resources)
	}}
}

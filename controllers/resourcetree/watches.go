package resourcetree

import (
	"bytes"
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := leaderless.Hold(mgr.GetCache(), &argocd.Application{}); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("resourcetree").
		For(&argocd.Application{}, builder.WithPredicates(changed())).
		WithOptions(retry.WhenLeading(concurrency))
	if r.Paths != nil {
		b.WatchesRawSource(source.Kind(r.Paths.cache, &corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofSecret))).
			WatchesRawSource(source.Kind(r.Paths.cache, &corev1.ConfigMap{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofSettings), hubEnabledChanged()))
	}
	if r.Reports != nil {
		b.WatchesRawSource(r.Reports.Changes(ofReport))
	}
	return b.Complete(r)
}

// ofSecret are the Applications of the cluster that a Secret is labelled with, and of the one that it is named for: a second Secret
// of that name takes the way of the first.
func (r *Reconciler) ofSecret(ctx context.Context, s *corev1.Secret) []reconcile.Request {
	p := clustersecret.PlaceOf(s)
	keys := index.ApplicationsOfCluster(ctx, r.Client, p.Cluster)
	if p.Name != p.Cluster {
		keys = append(keys, index.ApplicationsOfCluster(ctx, r.Client, p.Name)...)
	}
	return wake.Requests(keys)
}

// ofSettings are all Applications.
func (r *Reconciler) ofSettings(ctx context.Context, _ *corev1.ConfigMap) []reconcile.Request {
	return wake.Requests(index.AllApplications(ctx, r.Client))
}

// hubEnabledChanged lets through whether Argo CD may work with the hub.
func hubEnabledChanged() predicate.TypedPredicate[*corev1.ConfigMap] {
	return predicate.TypedFuncs[*corev1.ConfigMap]{UpdateFunc: func(e event.TypedUpdateEvent[*corev1.ConfigMap]) bool {
		return e.ObjectOld.Data[hubEnabled] != e.ObjectNew.Data[hubEnabled]
	}}
}

// changed lets through what an entry is made of, and a refresh that begins.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		return shown(before) != shown(after) ||
			before.Cluster() != after.Cluster() || !bytes.Equal(before.Spec.Raw, after.Spec.Raw) ||
			after.Refresh() != "" && before.Refresh() == "" ||
			!reflect.DeepEqual(before.Status.Resources, after.Status.Resources)
	}}
}

package gitopscluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/crd"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

const (
	// byPlacement finds GitOpsClusters by the name of their Placement, in the same namespace.
	byPlacement = "gitopscluster.placement"

	// byArgoNamespace finds GitOpsClusters by the namespace of the Argo CD.
	byArgoNamespace = "gitopscluster.argoNamespace"

	// byAccount finds GitOpsClusters by the name of the ManagedServiceAccounts for the tokens.
	byAccount = "gitopscluster.account"
)

// Kinds are the kinds that the controller needs and a hub may lack: a hub without Open Cluster Management's placement,
// or with the GitOpsCluster of a different project.
var Kinds = []schema.GroupVersionKind{
	v1beta1.GroupVersion.WithKind("GitOpsCluster"),
	schema.GroupVersion(clusterv1beta1.GroupVersion).WithKind("Placement"),
	schema.GroupVersion(clusterv1beta1.GroupVersion).WithKind("PlacementDecision"),
}

// crdName is the name of the CRD of GitOpsClusters.
const crdName = "gitopsclusters." + apis.Group

// SetupWithManager registers the controller and its indexes. concurrency is the number of GitOpsClusters that are
// reconciled in parallel.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := errors.Join(addIndexes(ctx, mgr.GetFieldIndexer()), r.IndexDecisions()); err != nil {
		return err
	}
	// A running manager starts the controller within Build. The lock keeps reconciles from opening a scope before the
	// scopes have the controller.
	r.scopes.mu.Lock()
	defer r.scopes.mu.Unlock()
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("gitopscluster").
		For(&v1beta1.GitOpsCluster{}, builder.WithPredicates(changed(clusterimport.SameGitOpsCluster))).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(r.ofPlacement),
			builder.WithPredicates(changed(clusterimport.SamePlacement))).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(r.ofDecision),
			builder.WithPredicates(changed(clusterimport.SameDecision))).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(changed(r.sameCluster))).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(r.ofApplication), builder.WithPredicates(targetLeft())).
		WatchesMetadata(settings.ClusterNamespace(), handler.EnqueueRequestsFromMapFunc(r.ofNamespace),
			builder.WithPredicates(settings.KeysChanged(apis.LabelArgoNamespace, apis.AnnotationGitOpsAccounts, apis.AnnotationServer))).
		WatchesRawSource(crd.Changes(mgr, crdName, r.ofReplacedCRD)).
		WithOptions(loop.Options(concurrency)).
		Build(r)
	if err != nil {
		return err
	}
	r.scopes.manager, r.scopes.ctl, r.scopes.changed = mgr, c, r.ofScope
	return nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, of := range map[string]func(*v1beta1.GitOpsCluster) string{
		byPlacement: func(g *v1beta1.GitOpsCluster) string {
			return clusterimport.PlacementKey(g).Name
		},
		byArgoNamespace: func(g *v1beta1.GitOpsCluster) string { return g.Spec.ArgoServer.ArgoNamespace },
		byAccount:       clusterimport.AccountOf,
	} {
		one := func(obj client.Object) []string { return []string{of(obj.(*v1beta1.GitOpsCluster))} }
		if err := indexer.IndexField(ctx, &v1beta1.GitOpsCluster{}, field, one); err != nil {
			return err
		}
	}
	return nil
}

// changed selects the updates of an object with a change of the fields that decisions read.
func changed[T client.Object](same func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !same(e.ObjectOld.(T), e.ObjectNew.(T)) }}
}

// targetLeft selects the events after which an Application may not target its cluster any more.
func targetLeft() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: changed(clusterimport.SameUser).Update,
	}
}

func (r *Reconciler) sameCluster(before, after *clusterv1.ManagedCluster) bool {
	return clustersecret.SameCluster(before, after, r.Options.Claims)
}

// ofReplacedCRD queues all GitOpsClusters after a change of the CRD, because the hub may now keep more or fewer fields
// of the status.
func (r *Reconciler) ofReplacedCRD(ctx context.Context) []reconcile.Request {
	r.pruned.Store(false)
	r.stood.forget()
	return r.requests(ctx)
}

func (r *Reconciler) ofPlacement(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{byPlacement: obj.GetName()})
}

func (r *Reconciler) ofDecision(ctx context.Context, obj client.Object) []reconcile.Request {
	placement := obj.GetLabels()[clusterv1beta1.PlacementLabel]
	return r.requests(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{byPlacement: placement})
}

func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	decisions := &clusterv1beta1.PlacementDecisionList{}
	index.Must(ctx, r.List(ctx, decisions, client.MatchingFields{index.ByDecision: obj.GetName()}, client.UnsafeDisableDeepCopy))
	var out []reconcile.Request
	for i := range decisions.Items {
		out = append(out, r.ofDecision(ctx, &decisions.Items[i])...)
	}
	return out
}

func (r *Reconciler) ofApplication(_ context.Context, obj client.Object) []reconcile.Request {
	return loop.Requests(r.waiting.of(obj.(*argocd.Application).Cluster()))
}

// ofNamespace returns the GitOpsClusters with the Argo CD of the namespace, and the GitOpsClusters of the cluster with
// the same name.
func (r *Reconciler) ofNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return append(r.requests(ctx, client.MatchingFields{byArgoNamespace: obj.GetName()}), r.ofCluster(ctx, obj)...)
}

// ofScope returns the GitOpsClusters to reconcile after a change of an object in a scope.
func (r *Reconciler) ofScope(ctx context.Context, which scope, obj client.Object) []reconcile.Request {
	if which.namespace == "" {
		return r.requests(ctx, client.MatchingFields{byAccount: which.name})
	}
	out := r.requests(ctx, client.MatchingFields{byArgoNamespace: which.namespace})
	if s, ok := obj.(*corev1.Secret); ok {
		out = append(out, loop.Requests(clustersecret.Owners(s))...)
	}
	return out
}

// requests returns the requests for the GitOpsClusters that the cache finds with the given options.
func (r *Reconciler) requests(ctx context.Context, match ...client.ListOption) []reconcile.Request {
	list := &v1beta1.GitOpsClusterList{}
	index.Must(ctx, r.List(ctx, list, append(match, client.UnsafeDisableDeepCopy)...))
	keys := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		keys[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	return loop.Requests(keys)
}

package gitopscluster

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// Rights to Secrets, ConfigMaps and Roles are given by namespace: deploy/rbac/gitopscluster.yaml.
//
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placements,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the cluster Secrets of one GitOpsCluster. What it remembers is rebuilt by the next reconcile.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before anything is removed.
	Live client.Reader

	// Events records what people should see on the GitOpsCluster.
	Events events.EventRecorder

	// Claims are the names of the ClusterClaims that go to the Secrets as labels.
	Claims []string

	// IndexDecisions registers index.ByDecision, if nobody has yet.
	IndexDecisions func() error

	// Grace is how long a cluster must not have been chosen before its Secret goes; 0 stands for DefaultGrace.
	Grace time.Duration

	scopes  scopes
	held    held
	dropped dropped

	pushers pushers
}

// errStale says that the cache is behind what was read from the API server: look again when it has caught up.
var errStale = errors.New("the cache is behind the API server")

// Reconcile brings the cluster Secrets of the GitOpsCluster that req names up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	g := &v1beta1.GitOpsCluster{}
	err := r.Get(ctx, req.NamespacedName, g)
	switch {
	case apierrors.IsNotFound(err):
		r.held.set(req.NamespacedName, nil)
		r.pushers.forget(req.NamespacedName)
		r.dropped.forget(req.NamespacedName)
		forget(req.NamespacedName)
		return ctrl.Result{}, nil
	case err != nil:
	case !g.DeletionTimestamp.IsZero():
		err = r.finalize(ctx, g)
	default:
		err = r.keep(ctx, g)
	}
	if apierrors.IsConflict(err) || errors.Is(err, errStale) {
		return ctrl.Result{RequeueAfter: retry.Conflict}, nil
	}
	if after, is := errors.AsType[later](err); is {
		return ctrl.Result{RequeueAfter: time.Duration(after)}, nil
	}
	return ctrl.Result{}, err
}

// keep goes as far as it can, and says on the GitOpsCluster how far that was.
func (r *Reconciler) keep(ctx context.Context, g *v1beta1.GitOpsCluster) error {
	o := &outcome{}
	if err := r.pass(ctx, g, o); err != nil {
		return err
	}
	return cmp.Or(r.report(ctx, g, o), o.again())
}

// pass is one attempt. What only people can mend is noted in the outcome; an error is for another attempt.
func (r *Reconciler) pass(ctx context.Context, g *v1beta1.GitOpsCluster, o *outcome) error {
	chosen, err := r.choose(ctx, r.Client, g)
	if o.resolve(chosen, err); isFailure(err) {
		return err
	}
	err = r.allowed(ctx, g)
	if isFailure(err) {
		return err
	}
	if err != nil {
		o.refuse(err)
		return r.withdraw(ctx, g, o, g.Status.ArgoNamespaces)
	}
	if chosen == nil {
		r.dropped.forget(client.ObjectKeyFromObject(g))
		return nil
	}
	namespace := g.Spec.ArgoServer.ArgoNamespace
	argo, err := r.load(ctx, namespace)
	if o.refuse(err); err != nil {
		return failure(err)
	}
	if err := r.remember(ctx, g, namespace); err != nil {
		return err
	}
	if err := r.prepareGenerator(ctx, namespace); err != nil {
		return err
	}
	if err := r.bring(ctx, g, chosen, argo, o); err != nil {
		return err
	}
	if err := r.prune(ctx, g, chosen, argo, o); err != nil {
		return err
	}
	return r.withdraw(ctx, g, o, without(g.Status.ArgoNamespaces, namespace))
}

// remember notes on the GitOpsCluster, before there is a Secret, that and where it may have some.
func (r *Reconciler) remember(ctx context.Context, g *v1beta1.GitOpsCluster, namespace string) error {
	if !controllerutil.ContainsFinalizer(g, apis.FinalizerClusterSecrets) {
		before := g.DeepCopy()
		controllerutil.AddFinalizer(g, apis.FinalizerClusterSecrets)
		if err := r.Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
	}
	if slices.Contains(g.Status.ArgoNamespaces, namespace) {
		return nil
	}
	before := g.DeepCopy()
	g.Status.ArgoNamespaces = append([]string{namespace}, g.Status.ArgoNamespaces...)
	return r.Status().Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

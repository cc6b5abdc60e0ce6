package status

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

// Reconciler keeps the status of one hub Application. All that it remembers is since when reports wait, to measure it.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache: the request that a work carries, before somebody's word is overwritten.
	Live client.Reader

	// Inventory knows what the clusters have.
	Inventory *resourcesync.Inventory

	// reported is since when what a cluster has reported waits to be looked at.
	reported gauge.Since
}

// Reconcile writes what the cluster reports of the Application that req names into its status, and whether it can
// report at all.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	since := r.reported.Take(req.NamespacedName)
	result, err := r.reconcile(ctx, req, since)
	if err != nil || !result.IsZero() {
		r.reported.Note(req.NamespacedName, since) // it is looked at again
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request, since time.Time) (ctrl.Result, error) {
	app := &argocd.Application{} // the cache's own: not to be changed
	if err := r.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !speaksFor(app) {
		return ctrl.Result{}, nil
	}
	facts, err := r.Inventory.Facts(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	w := &workv1.ManifestWork{}
	if err := r.Get(ctx, work.Key(app), w, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	ofHub, err := r.hubConditions(ctx, app, w)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := merge(&app.Status, facts, append(ofHub, age(app, facts)...), metav1.Now())
	forgetResources(&status, facts, w)
	status.Sync = compared(app, status.Sync, work.Sent(w))
	status.History = deployments(app, facts)
	status.OperationState = showOperation(app, w, status.OperationState)
	if err := r.keepTermination(ctx, app, &status); err != nil {
		return ctrl.Result{}, err
	}
	err = r.write(ctx, app, status, since)
	if apierrors.IsConflict(err) {
		return retry.Slower(), nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// speaksFor tells whether the Application's status is this controller's to write. Without skip-reconcile the hub's
// own Argo CD writes it, and two would undo each other.
func speaksFor(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && app.Cluster() != ""
}

// write patches what differs. It sends nothing when nothing does. What a cluster has reported waits since a time; zero for none.
func (r *Reconciler) write(ctx context.Context, app *argocd.Application, status argocd.Status, since time.Time) error {
	patch, err := diff(app, status)
	if err != nil {
		return err
	}
	written, err := hubapp.Write(ctx, r.Client, app, patch)
	if written && err == nil {
		measure(&app.Status, &status, since, time.Now())
	}
	return err
}

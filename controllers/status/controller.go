package status

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

// Reconciler keeps the status of one hub Application. It holds no state of its own.
type Reconciler struct {
	client.Client

	// Inventory knows what the clusters have.
	Inventory *resourcesync.Inventory
}

// Reconcile writes what the cluster reports of the Application that req names into its status, and whether it can
// report at all.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
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
	status.Sync = compared(app, status.Sync, work.Sent(w))
	if err := r.keepTermination(ctx, app, &status); err != nil {
		return ctrl.Result{}, err
	}
	err = r.write(ctx, app, status)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retry.Conflict}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// speaksFor tells whether the Application's status is this controller's to write. Without skip-reconcile the hub's
// own Argo CD writes it, and two would undo each other.
func speaksFor(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && app.Cluster() != ""
}

// write patches what differs. It sends nothing when nothing does.
func (r *Reconciler) write(ctx context.Context, app *argocd.Application, status argocd.Status) error {
	patch, err := diff(app, status)
	if err != nil {
		return err
	}
	written, err := hubapp.Write(ctx, r.Client, app, patch)
	if written && err == nil {
		statusWrites.Inc()
	}
	return err
}

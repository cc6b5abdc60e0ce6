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
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/tracing"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

// Reconciler keeps the status of one hub Application up to date. It remembers only since when reports wait, for a
// metric, and the last specs before a change.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache: the request in a work, before a user's request in the status is
	// overwritten.
	Live client.Reader

	// Inventory knows the reported status of the Applications on the clusters.
	Inventory *resourcesync.Inventory

	// Tracer sends traces; nil for no traces.
	Tracer *tracing.Tracer

	// Now is the clock for the times of conditions; nil for the clock of the machine.
	Now func() time.Time

	// former are the specs before the last changes.
	former *formerSpecs

	// reported is since when a report of a cluster waits for a reconcile.
	reported gauge.Since
}

// Reconcile writes the cluster's report about the requested Application into the status of the Application, and whether
// the cluster can report at all.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	since := r.reported.Take(req.NamespacedName)
	result, err := r.reconcile(ctx, req, since)
	if err != nil || !result.IsZero() {
		r.reported.Note(req.NamespacedName, since) // a further reconcile follows
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request, since time.Time) (ctrl.Result, error) {
	app := &argocd.Application{} // owned by the cache: do not change it
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
	status := merge(&app.Status, facts, append(ofHub, age(app, facts)...), metav1.NewTime(r.now()))
	forgetResources(&status, facts, w)
	status.Sync = compared(app, status.Sync, work.Sent(w))
	status.History = deployments(app, facts, r.former.of(app.UID))
	status.OperationState = showOperation(app, w, status.OperationState)
	if err := r.keepTermination(ctx, app, &status); err != nil {
		return ctrl.Result{}, err
	}
	err = r.write(ctx, app, w, status, since)
	if apierrors.IsConflict(err) {
		return loop.Backoff(), nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func (r *Reconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// speaksFor reports whether this controller may write the Application's status. Without skip-reconcile, the hub's own
// Argo CD writes the status, and both controllers would undo each other's writes.
func speaksFor(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && app.Cluster() != ""
}

// write patches the changed fields, and sends nothing without a change. since is the time of the cluster's report, for
// the metric and the trace; zero for no report. w is the Application's work; the zero value for none.
func (r *Reconciler) write(
	ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, status argocd.Status, since time.Time,
) error {
	patch, err := diff(app, status)
	if err != nil {
		return err
	}
	began := time.Now()
	written, err := hub.WriteApplication(ctx, r.Client, app, patch)
	if written {
		r.trace(ctx, w, &status, since, began, err)
	}
	if written && err == nil {
		measure(&app.Status, &status, since, time.Now())
	}
	return err
}

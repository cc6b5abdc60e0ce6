package agent

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
)

// Interval is the minimum time between two reports on an Application. Changes in between are part of the next report.
const Interval = 200 * time.Millisecond

// DefaultNotComparedAfter is more than three times the longest interval between two comparisons of an Application. With
// the default settings of Argo CD (2 and 3), the longest interval is six minutes, from a timeout.reconciliation of
// three minutes.
const DefaultNotComparedAfter = 20 * time.Minute

// Reconciler maintains the report on an Application of the cluster.
type Reconciler struct {
	// Cluster reads the cached Applications of the managed cluster.
	Cluster client.Reader

	// Hub reads the cached metadata of the reports, and writes reports.
	Hub client.Client

	// Namespace is the cluster's namespace on the hub.
	Namespace string

	// NotComparedAfter is the age of an Application's last comparison from which the agent tells the hub; 0 means
	// never.
	NotComparedAfter time.Duration

	// Trees reads live resources. A nil Trees reads none.
	Trees *Trees

	pace      pace
	unmanaged unmanaged
}

// Reconcile writes the report on the named Application, unless the hub has the same report already. Reconcile requeues
// for the time when the Application's next comparison is overdue.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{}
	if err := r.Cluster.Get(ctx, req.NamespacedName, app); err != nil {
		r.pace.forget(req.NamespacedName)
		r.unmanaged.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := app.Annotations[apis.AnnotationWork]
	if name == "" {
		r.unmanaged.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	speaks, err := r.speaks(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !speaks {
		ctrl.LoggerFrom(ctx).V(1).Info("The mark of the Application belongs to the ManifestWork of a different Application, "+
			"so the Application is not reported",
			"manifestWork", name)
		return ctrl.Result{}, nil
	}
	owned := appreport.Owned(app)
	if r.pace.isLost(req.NamespacedName, name) && !owned {
		r.unmanaged.note(req.NamespacedName, name, app)
		return ctrl.Result{}, nil // no controller reads a new report
	}
	r.unmanaged.noteManaged(req.NamespacedName, name, owned)
	if wait := r.pace.wait(req.NamespacedName, name); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	report := appreport.Build(app, time.Now(), r.Trees.of(ctx, req.NamespacedName)...)
	again := appreport.NotCompared(report, app.CreationTimestamp.Time, time.Now(), r.NotComparedAfter)
	if report.Status.Empty() && report.NotComparedSince == "" {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	err = r.tell(ctx, app, report)
	if r.Trees.refused(ctx, report, err) {
		return ctrl.Result{RequeueAfter: Interval}, nil
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// speaks reports whether an Application with a mark came with the ManifestWork of the mark.
func (r *Reconciler) speaks(ctx context.Context, app *argocd.Application) (bool, error) {
	name := app.Annotations[apis.AnnotationWork]
	marked, err := r.marked(ctx, name)
	if err != nil {
		return false, err
	}
	speaker := appreport.Speaker(name, marked)
	return speaker != nil && client.ObjectKeyFromObject(speaker) == client.ObjectKeyFromObject(app), nil
}

// workOf returns the ManifestWork that an Application came with; empty if another Application came with the work.
func (r *Reconciler) workOf(ctx context.Context, app *argocd.Application) (string, error) {
	name := app.Annotations[apis.AnnotationWork]
	if name == "" {
		return "", nil
	}
	speaks, err := r.speaks(ctx, app)
	if !speaks {
		return "", err
	}
	return name, err
}

// marked returns the cluster's Applications with the mark of the named ManifestWork.
func (r *Reconciler) marked(ctx context.Context, name string) ([]argocd.Application, error) {
	list := &argocd.ApplicationList{}
	err := r.Cluster.List(ctx, list, client.MatchingFields{byWork: name}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// tell writes the report on the Application, unless the hub has the same report already.
func (r *Reconciler) tell(ctx context.Context, app *argocd.Application, report *v1alpha1.ApplicationReport) error {
	name := app.Annotations[apis.AnnotationWork]
	current, err := r.current(ctx, name)
	if err != nil {
		return err
	}
	digest := appreport.Digest(report)
	if says(current, digest) {
		return nil
	}
	r.pace.wrote(client.ObjectKeyFromObject(app), name)
	return r.write(ctx, name, digest, report)
}

// current returns the metadata of the hub's report, or nil if the report does not exist.
func (r *Reconciler) current(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	report := reportMetadata()
	err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, report)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // documented
	}
	return report, err
}

// says returns true if the report has the digest and is not being deleted.
func says(report *metav1.PartialObjectMetadata, digest string) bool {
	return report != nil && report.DeletionTimestamp.IsZero() && report.Annotations[apis.AnnotationDigest] == digest
}

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

// Interval is how long the reports on one Application are apart at least. What changes meanwhile is in the next.
const Interval = 200 * time.Millisecond

// DefaultNotComparedAfter is more than three times as long as Argo CD (2 and 3) with its own settings takes between two
// comparisons of an Application: six minutes at most, by a timeout.reconciliation of three.
const DefaultNotComparedAfter = 20 * time.Minute

// Reconciler keeps the report on one Application of the cluster.
type Reconciler struct {
	// Cluster reads the cached Applications of the managed cluster.
	Cluster client.Reader

	// Hub reads the cached metadata of the reports, and writes reports.
	Hub client.Client

	// Namespace is the cluster's namespace on the hub.
	Namespace string

	// NotComparedAfter is how long the last comparison of an Application may lie back before the hub is told; 0 for ever.
	NotComparedAfter time.Duration

	// Trees knows of live resources; nil for nothing.
	Trees *Trees

	pace      pace
	unmanaged unmanaged
}

// Reconcile writes the report on the Application that req names, unless the hub has it already. It comes back when the
// Application should have been compared again.
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
	marked, err := r.marked(ctx, name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if speaker := appreport.Speaker(name, marked); speaker == nil || client.ObjectKeyFromObject(speaker) != req.NamespacedName {
		ctrl.LoggerFrom(ctx).V(1).Info("The Application has the mark of a ManifestWork that another one was sent with, and is not reported",
			"manifestWork", name)
		return ctrl.Result{}, nil
	}
	held := appreport.Held(app)
	if r.pace.isLost(req.NamespacedName, name) && !held {
		r.unmanaged.note(req.NamespacedName, name, app)
		return ctrl.Result{}, nil // nobody reads another report
	}
	r.unmanaged.hold(req.NamespacedName, name, held)
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

// marked are the cluster's Applications that have the mark of a ManifestWork of that name.
func (r *Reconciler) marked(ctx context.Context, name string) ([]argocd.Application, error) {
	list := &argocd.ApplicationList{}
	err := r.Cluster.List(ctx, list, client.MatchingFields{byWork: name}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// tell writes the report on the Application, unless the hub has it already.
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

// current is the metadata of the report that the hub has; nil when it has none.
func (r *Reconciler) current(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	report := reportMetadata()
	err := r.Hub.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, report)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // documented
	}
	return report, err
}

// says tells whether a report is there to stay and says what has that digest.
func says(report *metav1.PartialObjectMetadata, digest string) bool {
	return report != nil && report.DeletionTimestamp.IsZero() && report.Annotations[apis.AnnotationDigest] == digest
}

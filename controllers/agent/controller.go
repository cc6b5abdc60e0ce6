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
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
)

// Interval is how long the reports on one Application are apart at least. What changes meanwhile is in the next.
const Interval = 200 * time.Millisecond

// Reconciler keeps the report on one Application of the cluster.
type Reconciler struct {
	// Cluster reads the cached Applications of the managed cluster.
	Cluster client.Reader

	// Hub reads the cached metadata of the reports, and writes reports.
	Hub client.Client

	// Works reads ManifestWorks from the hub's API server.
	Works client.Reader

	// Namespace is the cluster's namespace on the hub.
	Namespace string

	pace   pace
	owners owners
}

// Reconcile writes the report on the Application that req names, unless the hub has it already.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{}
	if err := r.Cluster.Get(ctx, req.NamespacedName, app); err != nil {
		r.pace.forget(req.NamespacedName)
		r.owners.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := app.Annotations[apis.AnnotationWork]
	report := appreport.Build(app, time.Now())
	if name == "" || report.Status.Empty() {
		return ctrl.Result{}, nil
	}
	if wait := r.pace.wait(req.NamespacedName); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	current, err := r.current(ctx, name)
	if err != nil {
		return ctrl.Result{}, err
	}
	digest := appreport.Digest(report)
	if says(current, digest) {
		return ctrl.Result{}, nil
	}
	uid, err := r.owner(ctx, name, req.NamespacedName, current)
	if err != nil {
		return ctrl.Result{}, err
	}
	if uid == "" {
		return ctrl.Result{RequeueAfter: ownerRetry}, nil
	}
	r.pace.wrote(req.NamespacedName)
	return ctrl.Result{}, r.write(ctx, name, uid, digest, report)
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
	return report != nil && report.DeletionTimestamp.IsZero() && len(report.OwnerReferences) > 0 &&
		report.Annotations[apis.AnnotationDigest] == digest
}

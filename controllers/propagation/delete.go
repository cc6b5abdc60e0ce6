package propagation

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// remove takes an Application off the cluster of a work, and tells whether the work's deletion has been asked for. What
// becomes there of what the Application deployed follows from the finalizers that the cluster's copy has at that
// moment, and they are to be those of the hub's: so the work brings them first, where it had others or none, and goes
// when the agent has applied that. app is nil when the hub has no Application any more: whoever took its finalizers off
// there wanted what it deployed to stay. A work that has to wait then remembers that its Application is gone, so that a
// restart does not take it for lost. The work's changes wake the reconciles that go on.
func (r *Reconciler) remove(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) (bool, error) {
	if !w.DeletionTimestamp.IsZero() {
		return true, nil
	}
	if err := r.unheld(ctx, w); err != nil {
		return false, err
	}
	if !slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer) || !work.Took(w) {
		return true, r.deleteWork(ctx, w, app) // it has brought nothing
	}
	updated, changed := work.Removable(w, cascade(app))
	if !changed && heeded(w, app != nil) {
		return true, r.deleteWork(ctx, w, app)
	}
	if app == nil && w.Annotations[apis.AnnotationOrphaned] != AfterRestoreDelete {
		updated, changed = annotated(updated, apis.AnnotationOrphaned, AfterRestoreDelete), true
	}
	if changed {
		return false, r.rewrite(ctx, w, updated)
	}
	if app == nil {
		r.tellOfRefusal(ctx, w)
	}
	return false, nil
}

// tellOfRefusal says of a work whose Application is gone that its cluster could not apply it, and so may have finalizers
// still by which its deletion would destroy what is to stay.
func (r *Reconciler) tellOfRefusal(ctx context.Context, w *workv1.ManifestWork) {
	if work.Outcome(w) != metav1.ConditionFalse {
		return
	}
	why := "it could not apply the ManifestWork"
	if c := said(w, workv1.WorkApplied); c != nil && c.Message != "" {
		why = c.Message
	}
	ctrl.LoggerFrom(ctx).Info("Kept a ManifestWork whose Application is gone: its cluster refuses what keeps the workload",
		"work", client.ObjectKeyFromObject(w).String(), "why", why)
	r.Events.Eventf(w, nil, corev1.EventTypeWarning, apis.ReasonRemovalRefused, "Delete",
		"the hub's Application is gone, and what it deployed is to stay, but cluster %s cannot be told so: %.500s. The work goes "+
			"when that is mended, or the Application is gone there. Deleted before, it takes along what was deployed", w.Namespace, why)
}

// cascade are the finalizers of the hub's copy that the cluster's is to have when it goes.
func cascade(app *argocd.Application) []string {
	if app == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return !argocd.IsCascadeFinalizer(f) })
}

// heeded tells whether the cluster has the finalizers that the work says. A work that has never said anything else need
// not wait for that, nor one that carries a request, nor one whose Application is not there. willing tells whether the
// hub has the Application: then a cluster that could not apply the work is asked to remove what it has all the same.
func heeded(w *workv1.ManifestWork, willing bool) bool {
	if w.Generation == 1 || work.CarriesRequest(w) {
		return true
	}
	switch work.Outcome(w) {
	case metav1.ConditionTrue:
		return true
	case metav1.ConditionFalse:
		return willing || absent(w)
	}
	return false
}

// absent tells whether the cluster does not have what it could not apply.
func absent(w *workv1.ManifestWork) bool {
	return work.Outcome(w) == metav1.ConditionFalse && !meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkAvailable)
}

// rewrite writes a work that is to go on from the version that was read.
func (r *Reconciler) rewrite(ctx context.Context, w, updated *workv1.ManifestWork) error {
	err := r.Patch(ctx, updated, client.MergeFromWithOptions(w, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return waiting(retry.Conflict)
	}
	if err == nil {
		workWrites.WithLabelValues("update").Inc()
	}
	return err
}

// deleteWork asks for the deletion of exactly this work, not of one that has taken its name since. app is nil when
// the Application is gone, and gets the event otherwise.
func (r *Reconciler) deleteWork(ctx context.Context, w *workv1.ManifestWork, app *argocd.Application) error {
	if !w.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.unheld(ctx, w); err != nil {
		return err
	}
	return r.endWork(ctx, w, app, client.Preconditions{UID: &w.UID}, removed)
}

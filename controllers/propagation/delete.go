package propagation

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
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
// restart does not take it for lost. insist is set where nothing that the cluster has or refuses is to keep the work. The
// work's changes wake the reconciles that go on.
func (r *Reconciler) remove(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, insist bool) (bool, error) {
	if !w.DeletionTimestamp.IsZero() {
		return true, nil
	}
	if err := r.unheld(ctx, w); err != nil {
		return false, err
	}
	if !mayHaveBrought(w) {
		return true, r.endWork(ctx, w, app, asRead(w), removed) // unless it has changed meanwhile
	}
	if !insist {
		if awaits, err := r.awaits(ctx, app, w); awaits || err != nil {
			return false, err
		}
	}
	finalizers := cascade(app)
	insist = insist || argocd.Destroys(finalizers)
	current, err := r.withdrawn(ctx, app, w, insist)
	if err != nil {
		return false, err
	}
	updated, changed := work.Removable(current, finalizers)
	if !changed && heeded(w, insist) {
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

// withdrawn is a work with its Application in the place of a request that it carries, which says nothing of finalizers. It
// is the work itself where that need not be, or the Application may not be sent there any more: then it goes as it is.
func (r *Reconciler) withdrawn(
	ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, insist bool,
) (*workv1.ManifestWork, error) {
	if insist || app == nil || !work.CarriesRequest(w) {
		return w, nil
	}
	err := r.mayPutBack(ctx, app, w)
	if _, forbidden := errors.AsType[*Problem](err); forbidden {
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	out := w.DeepCopy()
	if err := work.PutBack(out, app); err != nil {
		return nil, renderProblem(err)
	}
	return out, nil
}

// mayHaveBrought tells whether what the cluster has can be there by that work: its agent has seen it, and was not kept
// from what is there.
func mayHaveBrought(w *workv1.ManifestWork) bool {
	return slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer) && work.Took(w)
}

// cascade are the finalizers of the hub's copy that the cluster's is to have when it goes.
func cascade(app *argocd.Application) []string {
	if app == nil {
		return nil
	}
	return app.FinalizersThere()
}

// heeded tells whether the cluster's Application has the finalizers that the work says, and none of others that would
// destroy what is to stay. A work that has never said anything else need not wait for that, nor one that carries a request,
// nor one whose Application is not there. insist tells not to ask for more than that the agent has tried: what the
// Application deployed is to go, or it is to go whatever becomes of that.
func heeded(w *workv1.ManifestWork, insist bool) bool {
	if w.Generation == 1 || work.CarriesRequest(w) {
		return true
	}
	switch work.Outcome(w) {
	case metav1.ConditionTrue:
		left, known := work.Left(w)
		return insist || known && len(left) == 0
	case metav1.ConditionFalse:
		return insist || absent(w)
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

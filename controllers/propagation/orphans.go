package propagation

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// What becomes of works whose Applications the hub has lost, rather than deleted: see Reconciler.AfterRestore.
const (
	// AfterRestoreHold keeps them as they are, until their Applications are back or somebody says otherwise.
	AfterRestoreHold = "hold"

	// AfterRestoreAdopt lets go of them: the clusters keep everything for whoever makes the Applications anew.
	AfterRestoreAdopt = "adopt"

	// AfterRestoreDelete takes the hub at its word: what it does not have goes.
	AfterRestoreDelete = "delete"
)

// AfterRestoreModes are all of them, the default first.
var AfterRestoreModes = []string{AfterRestoreHold, AfterRestoreAdopt, AfterRestoreDelete}

const (
	// bulk is how many Applications may have gone without the hub having told of it, before that counts as a loss: some
	// are deleted while Towline is down.
	bulk = 10

	// settle is how long to look for others before one is taken for one of a few. At a start, and when a watch was broken,
	// all of them are found within this time.
	settle = 5 * time.Second
)

// removeOrphan deals with a work whose Application the API server does not have. What the Application deployed stays on
// the cluster in any case: nothing takes a finalizer of Argo CD off the hub before its cluster is done but a person, or
// a loss.
func (r *Reconciler) removeOrphan(ctx context.Context, key types.NamespacedName, w *workv1.ManifestWork) error {
	r.revocations.retain(key, nil)
	switch {
	case !w.DeletionTimestamp.IsZero():
		return nil
	case work.Released(w):
		return r.releaseWork(ctx, nil, w)
	}
	lost, err := r.lost(key, w)
	switch {
	case err != nil:
		return err
	case lost && r.afterRestore(w) == AfterRestoreAdopt, !lost && work.CarriesRequest(w):
		return r.releaseWork(ctx, nil, w)
	case lost:
		return r.hold(ctx, key, w)
	}
	_, err = r.remove(ctx, nil, w, false)
	return err
}

// afterRestore is what becomes of a work whose Application the hub has lost: what is said of all, unless the work says.
func (r *Reconciler) afterRestore(w *workv1.ManifestWork) string {
	if said := w.Annotations[apis.AnnotationOrphaned]; slices.Contains(AfterRestoreModes, said) {
		return said
	}
	return r.AfterRestore
}

// lost tells whether the hub has lost the Application of a work, rather than deleted it: it has never told of its end,
// and there are many such or it is known to have been restored. One that was held once stays so, but for an end that is
// told of: the Application was there again.
func (r *Reconciler) lost(key types.NamespacedName, w *workv1.ManifestWork) (bool, error) {
	switch {
	case r.afterRestore(w) == AfterRestoreDelete:
		return false, nil
	case w.Annotations[apis.AnnotationOrphanedAt] != "":
		return r.losses.hold(key), nil
	}
	lost, left := r.losses.judge(key, time.Now())
	if left > 0 {
		return false, waiting(left)
	}
	return lost, nil
}

// hold marks a work that nobody speaks for any more, so that it is kept whatever restarts, and says so.
func (r *Reconciler) hold(ctx context.Context, key types.NamespacedName, w *workv1.ManifestWork) error {
	if w.Annotations[apis.AnnotationOrphanedAt] != "" {
		return nil
	}
	if err := r.unheld(ctx, w); err != nil {
		return err
	}
	updated := annotated(w, apis.AnnotationOrphanedAt, time.Now().UTC().Format(time.RFC3339))
	if err := r.rewrite(ctx, w, updated); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Kept a ManifestWork whose Application the hub has lost",
		"work", client.ObjectKeyFromObject(w).String(), "application", key.String(), "then", "--after-restore")
	r.Events.Eventf(updated, nil, corev1.EventTypeWarning, apis.ReasonOrphaned, "Hold",
		"the hub has no Application %s, and has not told of its end: was it restored? Cluster %s keeps it until the Application is "+
			"there again, or the annotation %s of this work, or Towline's --after-restore, says %s or %s. Do not delete this work: "+
			"the Application would go, and all that it deployed if it has a finalizer of Argo CD's",
		key, w.Namespace, apis.AnnotationOrphaned, AfterRestoreAdopt, AfterRestoreDelete)
	return nil
}

// annotated is the work with that annotation.
func annotated(w *workv1.ManifestWork, key, value string) *workv1.ManifestWork {
	out := w.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
	return out
}

package dependencies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// settle makes the work what it should be. existing is nil when there is none.
func (r *Reconciler) settle(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork, want want) error {
	if held, err := r.Pauses.Cluster(ctx, key.Namespace); held || err != nil {
		return err // the end of the pause wakes this
	}
	want.unmark(want.work)
	switch {
	case existing != nil && !existing.DeletionTimestamp.IsZero():
		return nil // its end wakes the reconcile that makes it anew, if it is needed
	case want.work != nil && existing == nil:
		return r.create(ctx, want.work)
	case existing == nil:
		return nil
	case want.work != nil && !want.originals:
		if len(want.left) > 0 {
			dependency.Release(want.work, want.left)
		}
		return r.update(ctx, existing, want.work)
	case want.work != nil, want.end, want.withdrawn, want.letGo:
		return r.remove(ctx, existing, want) // its end wakes the reconcile that makes another
	}
	as := kept(existing, want)
	want.unmark(as)
	return r.update(ctx, existing, as)
}

func (r *Reconciler) create(ctx context.Context, desired *workv1.ManifestWork) error {
	err := r.Create(ctx, desired)
	switch {
	case apierrors.IsAlreadyExists(err):
		// The cache is behind, or the cluster took the label off. Nobody else has works of such a name.
		existing := &workv1.ManifestWork{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(desired), existing); err != nil {
			return client.IgnoreNotFound(err)
		}
		return r.update(ctx, existing, desired)
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // there is no such cluster; the Application says so, and its work, when there is one, wakes this
	case err != nil:
		return err
	}
	count(desired, "create")
	return nil
}

// update patches the work where it differs from desired: after a change on the hub, and when someone edited the work.
func (r *Reconciler) update(ctx context.Context, existing, desired *workv1.ManifestWork) error {
	updated, changed := work.Update(existing, desired)
	if !changed || !existing.DeletionTimestamp.IsZero() {
		return nil
	}
	patch := client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, updated, patch); err != nil {
		return client.IgnoreNotFound(err) // deleted meanwhile: its end wakes this
	}
	count(desired, "update")
	return nil
}

// remove deletes the work. What it says last is written before, where it matters to the cluster.
func (r *Reconciler) remove(ctx context.Context, existing *workv1.ManifestWork, want want) error {
	last, err := lastWord(existing, want)
	if err != nil {
		return err
	}
	if last == nil {
		return r.delete(ctx, existing)
	}
	want.unmark(last)
	if _, differs := work.Update(existing, last); differs {
		return r.update(ctx, existing, last)
	}
	if !seen(existing) {
		return nil // the agent's word wakes this
	}
	return r.delete(ctx, existing)
}

// delete asks for the deletion of exactly this work, not of one that has taken its name since.
func (r *Reconciler) delete(ctx context.Context, w *workv1.ManifestWork) error {
	if err := r.Delete(ctx, w, client.Preconditions{UID: &w.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleted ManifestWork", "work", client.ObjectKeyFromObject(w).String())
	count(w, "delete")
	return nil
}

// seen tells whether the work agent has dealt with the work as it is now, be it that it refused it.
func seen(w *workv1.ManifestWork) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
	return c != nil && c.ObservedGeneration == w.Generation
}

// applied tells whether the work agent has applied the work as it is now.
func applied(w *workv1.ManifestWork) bool {
	return seen(w) && meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
}

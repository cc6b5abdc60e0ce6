package dependencies

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// leftTo are the Applications of the cluster that are being let go of, or were, and use the dependency. The work remembers
// them: nothing else tells an Application that was let go of from one that was deleted, once its own work is gone. One
// that has a work again, by whatever hub Application, is not among them any more.
func (r *Reconciler) leftTo(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork) ([]types.NamespacedName, error) {
	list := &workv1.ManifestWorkList{}
	if err := r.List(ctx, list, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	known, err := r.credentials(ctx)
	if err != nil {
		return nil, err
	}
	return leftIn(list.Items, dependency.ReleasedTo(existing), func(w *workv1.ManifestWork) []types.NamespacedName {
		return usersIn(w, known, key)
	}), nil
}

// leftIn are those of before, and the users of the works that are being let go of, without those that another work of the
// cluster carries. The works come in any order.
func leftIn(
	works []workv1.ManifestWork, before []types.NamespacedName, users func(*workv1.ManifestWork) []types.NamespacedName,
) []types.NamespacedName {
	left := before
	var others []*workv1.ManifestWork
	for i := range works {
		w := &works[i]
		if _, ours := dependency.KindOf(w.Name); ours {
			continue
		}
		if work.Released(w) {
			left = append(left, users(w)...)
		} else {
			others = append(others, w)
		}
	}
	for _, w := range others {
		left = slices.DeleteFunc(left, func(app types.NamespacedName) bool { return work.CarriesTo(w, app) })
	}
	return left
}

// usersIn are the Applications of the cluster that a work carries and that use the dependency of that key.
func usersIn(w *workv1.ManifestWork, known dependency.Credentials, key types.NamespacedName) []types.NamespacedName {
	var out []types.NamespacedName
	for _, app := range carriedBy(w) {
		if slices.Contains(keysFor(client.ObjectKeyFromObject(w), known, app.spec), key) {
			out = append(out, app.key)
		}
	}
	return out
}

// Left tells whether the dependencies of the Applications that a work carries will stay on the cluster without it, as its
// agent has said. Propagation asks before it deletes the work of an Application that is being let go of.
func (r *Reconciler) Left(ctx context.Context, w *workv1.ManifestWork) (bool, error) {
	known, err := r.credentials(ctx)
	if err != nil {
		return false, err
	}
	for _, app := range carriedBy(w) {
		for _, key := range keysFor(client.ObjectKeyFromObject(w), known, app.spec) {
			c := &workv1.ManifestWork{}
			err := r.Live.Get(ctx, key, c)
			switch {
			case gone.Is(err):
			case err != nil:
				return false, err
			case c.DeletionTimestamp.IsZero() && (!dependency.IsReleasedTo(c, app.key) || !seen(c)):
				return false, nil
			}
		}
	}
	return true, nil
}

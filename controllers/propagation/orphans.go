package propagation

import (
	"context"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/work"
)

// removeOrphan deals with a work whose Application the API server does not have. What the Application deployed stays on
// the cluster in any case: nothing takes a finalizer of Argo CD off the hub before its cluster is done but a person.
func (r *Reconciler) removeOrphan(ctx context.Context, w *workv1.ManifestWork) error {
	if w.DeletionTimestamp.IsZero() && (work.Released(w) || work.CarriesRequest(w)) {
		return r.releaseWork(ctx, nil, w)
	}
	_, err := r.remove(ctx, nil, w)
	return err
}

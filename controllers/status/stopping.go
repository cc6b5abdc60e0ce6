package status

import (
	"context"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// keepTermination keeps the hub's phase Terminating in the status after a user's request to stop an operation. Argo CD
// has this request in the status itself. The request stays until the cluster reports the termination, or until Towline
// has withdrawn an unsent operation.
func (r *Reconciler) keepTermination(ctx context.Context, app *argocd.Application, status *argocd.Status) error {
	here, there := app.Status.OperationState, status.OperationState
	if here == nil || there == nil || here.StartedAt != there.StartedAt || here.Phase != "Terminating" {
		return nil
	}
	keep := there.Phase == "Running"
	if !keep && app.Operation != nil {
		for _, from := range []client.Reader{r, r.Live} { // the cache may not show yet the next operation in the work
			w := &workv1.ManifestWork{}
			if err := from.Get(ctx, work.Key(app), w, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
				return err
			}
			if keep = relay.Withdraws(here, work.Sent(w).Last); keep {
				break
			}
		}
	}
	if keep {
		status.OperationState = here
	}
	return nil
}

package status

import (
	"context"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// keepTermination leaves the hub's word in the status when someone there asked to stop an operation, as Argo CD does,
// in the status itself: until the cluster shows that it has heard, or what had not been sent is withdrawn.
func (r *Reconciler) keepTermination(ctx context.Context, app *argocd.Application, status *argocd.Status) error {
	here, there := app.Status.OperationState, status.OperationState
	if here == nil || there == nil || here.StartedAt != there.StartedAt || here.Phase != "Terminating" {
		return nil
	}
	keep := there.Phase == "Running"
	if !keep && app.Operation != nil {
		for _, from := range []client.Reader{r, r.Live} { // the cache may not show yet that the work carries the next operation
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

package status

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// stopping tells whether someone on the hub asked to stop an operation, as Argo CD does, in the status itself: that
// stays there until the cluster shows that it has heard, or what had not been sent is withdrawn.
func stopping(app *argocd.Application, there *argocd.OperationState, w *workv1.ManifestWork) bool {
	here := app.Status.OperationState
	if here == nil || there == nil || here.StartedAt != there.StartedAt || here.Phase != "Terminating" {
		return false
	}
	return there.Phase == "Running" || app.Operation != nil && relay.Withdraws(here, work.Sent(w).Last)
}

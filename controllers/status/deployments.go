package status

import (
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/history"
	"github.com/towline-io/towline/pkg/observed"
)

// deployments is the history that the Application shows: what its cluster reports now, with sources of the hub only. A history
// that the cluster does not report may be the history of the cluster before, whose revisions no user may roll back to.
func deployments(app *argocd.Application, facts *observed.Facts) []argocd.Deployment {
	if facts == nil {
		return nil
	}
	return history.Shown(facts.Status.History, app.Status.History, app.Spec.Raw)
}

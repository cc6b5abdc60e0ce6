package status

import (
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/history"
	"github.com/towline-io/towline/pkg/observed"
)

// deployments returns the history for the Application: the current report of the cluster, limited to sources in the
// hub's spec, in the former specs and in the shown history. A history without a current report may come from a previous
// cluster, and no user may roll back to the revisions of a previous cluster.
func deployments(app *argocd.Application, facts *observed.Facts, former [][]byte) []argocd.Deployment {
	if facts == nil {
		return nil
	}
	return history.Shown(facts.Status.History, app.Status.History, append(slices.Clone(former), app.Spec.Raw)...)
}

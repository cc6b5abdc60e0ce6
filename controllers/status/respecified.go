package status

import (
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// uncompared returns the sync status of an Application whose cluster has not compared the current spec. The cluster's
// report about an earlier spec does not count.
//
// The ApplicationSet controller of Argo CD 2.14 takes a Healthy Application for finished if its sync status is Unknown,
// and would start the next step of a RollingSync (isApplicationHealthy). So an Application of an ApplicationSet is
// OutOfSync: its cluster does not have the Application of the hub yet.
func uncompared(app *argocd.Application) *argocd.Sync {
	if _, ofSet := app.ApplicationSet(); ofSet {
		return &argocd.Sync{Status: "OutOfSync"}
	}
	return &argocd.Sync{Status: "Unknown"}
}

// compared returns the sync status to show, from the cluster's report and the annotations of the Application's work.
//
// In a RollingSync, the ApplicationSet controller of Argo CD 3.5 notices a changed template only by the revision: an
// Application with a known revision counts as done, and stays OutOfSync for good
// (progressivesync.UpdateApplicationSetApplicationStatus). The controller reads the status only from time to time, and
// may miss a short state. So the previous revision stays hidden.
func compared(app *argocd.Application, reported *argocd.Sync, sent relay.Stored) *argocd.Sync {
	switch {
	case app.SpecChanged() || sent.Uncompared:
		return uncompared(app)
	case reported != nil && reported.Status == "OutOfSync" && sent.ChangedAt != "" && reported.At() == sent.ChangedAt:
		return &argocd.Sync{Status: reported.Status}
	}
	return reported
}

package status

import (
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// uncompared is shown of an Application whose cluster has not compared what it deploys now, whatever the cluster says of what
// was before.
var uncompared = &argocd.Sync{Status: "Unknown"}

// compared is the result of a comparison, as the cluster tells of it, as it is to be shown, by what the Application's work remembers.
//
// The ApplicationSet controller of Argo CD 3.5 notices a change of the template in a RollingSync by nothing but the revision: an
// Application whose revision it knows has been done, and stays OutOfSync for good (progressivesync.UpdateApplicationSetApplicationStatus).
// It looks now and then, and may not see a state that lasts for a moment. So the revision of before stays hidden.
func compared(app *argocd.Application, reported *argocd.Sync, sent work.Requests) *argocd.Sync {
	switch {
	case app.SpecChanged() || sent.Uncompared:
		return uncompared
	case reported != nil && reported.Status == "OutOfSync" && sent.ChangedAt != "" && reported.At() == sent.ChangedAt:
		return &argocd.Sync{Status: reported.Status}
	}
	return reported
}

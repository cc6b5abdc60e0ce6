package delivery

import (
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// calm is the time without an edit on the cluster after which the next one counts as the first.
	calm = 10 * time.Minute

	// toldEdits is how many edits that follow each other an Application shows as a problem of the cluster.
	toldEdits = 4

	// firstPause is the time between the first two repairs of edits that follow each other. It doubles with each, up to longestPause.
	firstPause   = 5 * time.Second
	longestPause = 4 * time.Minute
)

// editedAgain tells of edits on the cluster that follow each other.
var editedAgain = &Gate{
	Name: "edits", Type: apis.ConditionEditedWarning, Reason: apis.ReasonEditedAgain, Ends: gate.ByTime, Quiet: true,
}

// setBack lets the agent of the own work apply the work at once, where the agent reports that somebody on the cluster has edited the
// Application, and returns the event that tells of the edit. It changes a label of desired, once for each edit. Edits that follow each
// other, as by a program, are repaired ever slower and shown.
func (d *decision) setBack(desired *workv1.ManifestWork, to *argocd.Application) (told []Event) {
	last := work.EditSeenBy(d.Own)
	since := d.Now.Sub(last.At)
	if since >= calm {
		last.Count = 0
	}
	seen := d.editSeen(desired, to)
	switch pause := pauseAfter(last.Count); {
	case seen == "" || seen == last.Mark:
	case since < pause:
		d.plan.addWait(Wait{After: pause - since})
	default:
		last, since = work.EditSeen{Count: last.Count + 1, Mark: seen, At: d.Now}, 0
		work.SetEditSeen(desired, last)
		told = []Event{editEvent(d.Own)}
	}
	if last.Count >= toldEdits {
		d.plan.addWait(Wait{After: calm - since})
		d.plan.addCondition(d.plan.blockAt(editedAgain, blockf("something on cluster %s has changed the Application %d times, the last time at %s, "+
			"and Towline set the changes back: find it with kubectl -n %s get applications.argoproj.io %s -o yaml --show-managed-fields on the "+
			"cluster, or leave these fields out on the hub", d.Own.Namespace, last.Count, last.At.UTC().Format(time.RFC3339), to.ClusterNamespace(),
			to.Name)))
	}
	return told
}

// editSeen is the mark of an edit that an apply of desired would set back; empty for none. An edit is not repaired before the agent has
// applied the own work: it is about to apply it.
func (d *decision) editSeen(desired *workv1.ManifestWork, to *argocd.Application) string {
	if !work.SetsBack(d.Own) || !work.SetsBack(desired) || !applied(d.Own) {
		return ""
	}
	seen := feedback.Parse(&d.Own.Status, work.Identifier(to))
	return seen.Edit
}

// pauseAfter is how long after a repair the next one is made.
func pauseAfter(count int) time.Duration {
	if count == 0 {
		return 0
	}
	return min(firstPause<<min(count-1, 10), longestPause)
}

// editEvent tells of an edit that is set back.
func editEvent(w *workv1.ManifestWork) Event {
	return Event{Related: w, Warning: true, Reason: apis.ReasonEditSetBack, Action: "SetBack",
		Note: "somebody changed the Application on cluster " + w.Namespace + ", and Towline sets the change back"}
}

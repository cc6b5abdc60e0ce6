package delivery

import (
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// calm is the time without an edit on the cluster after which the count of edits starts again.
	calm = 10 * time.Minute

	// toldEdits is the number of edits in succession after which the Application shows a problem of the cluster.
	toldEdits = 4

	// firstPause is the time between the first two repairs in succession. The time doubles with each repair, up to
	// longestPause.
	firstPause   = 5 * time.Second
	longestPause = 4 * time.Minute
)

// editedAgain is the notice about repeated edits on the cluster.
var editedAgain = &Gate{
	Name: "edits", Type: apis.ConditionEditedWarning, Reason: apis.ReasonEditedAgain,
}

// setBack makes the agent apply the own work at once after an edit on the cluster, and returns the event about the
// edit. setBack changes a label of desired, once for each edit. Repeated edits, for example by a program, are
// repaired at growing intervals, and shown.
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
		d.plan.addCondition(d.plan.blockAt(editedAgain, blockf("a writer on cluster %s has changed the Application %d times, the last time at %s, "+
			"and Towline reverted the changes: find the writer with kubectl -n %s get applications.argoproj.io %s -o yaml --show-managed-fields on the "+
			"cluster, or leave the changed fields out on the hub", d.Own.Namespace, last.Count, last.At.UTC().Format(time.RFC3339), to.ClusterNamespace(),
			to.Name)))
	}
	return told
}

// editSeen returns the mark of an edit that an apply of desired would revert; empty for none. Before the agent has
// applied the own work, no repair is needed, because the agent is about to apply the work.
func (d *decision) editSeen(desired *workv1.ManifestWork, to *argocd.Application) string {
	if !work.SetsBack(d.Own) || !work.SetsBack(desired) || !d.report(d.Own).Applied() {
		return ""
	}
	return d.observed(d.Own, to).Edit
}

// pauseAfter returns the time between a repair and the next repair.
func pauseAfter(count int) time.Duration {
	if count == 0 {
		return 0
	}
	return min(firstPause<<min(count-1, 10), longestPause)
}

// editEvent returns the event about a reverted edit.
func editEvent(w *workv1.ManifestWork) Event {
	return Event{Related: w, Warning: true, Reason: apis.ReasonEditSetBack, Action: "SetBack",
		Note: "a writer changed the Application on cluster " + w.Namespace + ", and Towline reverts the change"}
}

package relay

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/gate"
)

// decision is an unfinished answer.
type decision struct {
	Facts
	Answer

	// there is the state of operations on the cluster.
	there Cluster
}

// Decide returns the next steps for the requests of an Application: for the operation first, then for the refresh.
// Decide returns early if the hub's Application must be written first, or if facts are missing.
func Decide(f Facts) Answer {
	d := &decision{Facts: f, there: ClusterOf(f.Seen)}
	var sent Stored
	if f.Work != nil {
		sent = f.Work.Stored
		d.Last, d.Unanswered = sent.Last.Answered(f.Work.Result, d.wanted(sent.Last), d.there, f.Now)
		d.Uncompared = d.uncompared(sent)
		d.ChangedAt = d.changedAt(sent.ChangedAt)
		if d.Uncompared && f.App.Refresh() == "" {
			d.AskRefresh, d.HubFirst = apis.RefreshSpecChanged, true
			d.Warning = ptr.To("") // a warning about an earlier refresh is not about this refresh
			return d.Answer
		}
		if f.Work.Respecified && !d.Unanswered { // an answer to the refresh in the work is about the earlier spec
			sent.Refresh = Refresh{}
		}
		d.there.Ready = f.Work.Ready
	}
	if !d.Unanswered {
		d.relayOperation()
	}
	if !d.HubFirst && !d.NeedIdentity {
		d.relayRefresh(sent.Refresh)
	}
	return d.Answer
}

// Answered returns the record of a request after the agent's result, and whether the request must stay in the work. A
// request on its way stays while the request is still wanted. Otherwise the record follows from the result, and the
// work carries the Application again as soon as possible. wanted is the identity of the hub's present request.
func (s Sent) Answered(r Result, wanted string, there Cluster, now time.Time) (_ Sent, unanswered bool) {
	switch {
	case s.State != OnItsWay:
	case r.Outcome == metav1.ConditionTrue, stopped(s, there): // visible before the agent's answer
		s.State = Delivered
	case r.Outdated:
		s.State = Refused
	case r.Outcome == metav1.ConditionFalse:
		s.State, s.Since = Failed, now
	case s.ID == wanted:
		return s, true
	default: // withdrawn before the delivery to the cluster
		return Sent{}, false
	}
	return s, false
}

// wanted returns the identity of the hub Application's present and permitted request.
func (d *decision) wanted(last Sent) string {
	if s := d.App.Status.OperationState; s.Terminating() && d.there.Busy {
		return TerminationID(s.StartedAt)
	}
	if d.Withheld || d.App.Operation == nil || Withdraws(d.App.Status.OperationState, last) {
		return ""
	}
	return ID(d.App.Operation.Raw)
}

// relayOperation takes the next step of an operation, from the state stored in the work.
func (d *decision) relayOperation() {
	shown := d.App.Status.OperationState
	last, remaining := d.Last.retry(d.Now)
	if shown != nil && Terminate(shown, last, d.there) {
		d.send(Sent{ID: TerminationID(shown.StartedAt)}, nil)
		return
	}
	var operation json.RawMessage
	if d.App.Operation != nil {
		operation = d.App.Operation.Raw
	}
	if len(operation) > 0 && !d.there.Busy && Withdraws(shown, last) {
		d.replaceOperation(NoOperation)
		return
	}
	if shown.Terminating() && shown.StartedAt == d.there.StartedAt && stopped(last, d.there) {
		return // the status controller is about to write the end of the operation, and the write wakes the controller
	}
	if d.Withheld {
		operation = nil
	}
	switch nextAction(operation, last, d.there) {
	case actionStamp:
		d.stamp()
	case actionSend:
		// The cache may still show an operation that the hub has lost and that the work has forgotten. The event of the
		// change then wakes the controller.
		if d.NeedLatest, d.HubFirst = !d.Latest, d.Outdated; d.NeedLatest || d.HubFirst {
			return
		}
		d.send(Sent{ID: ID(operation), Digest: Digest(operation)}, operation)
	case actionClear:
		if d.showsOperation() { // otherwise the status controller is about to show the operation, and the write wakes the controller
			d.replaceOperation(NoOperation)
		}
	case actionDrop:
		d.dropOperation()
	case actionNone:
		if d.forget(); d.Last.State == Failed {
			d.After = remaining
		}
	}
}

// NoOperation is the JSON value for no operation.
var NoOperation = json.RawMessage("null")

// replaceOperation replaces the operation of the hub's Application.
func (d *decision) replaceOperation(by json.RawMessage) { d.Operation, d.HubFirst = by, true }

// dropOperation removes an operation without a sync from the hub. Such an operation requests nothing.
//
// The operation may be the rest of a repeated sync of a RollingSync. The ApplicationSet controller (Argo CD 2.14 to
// 3.5) waits for the sync. A change of an operation does not make the controller process the set again, but a change
// of an annotation does. So dropOperation also requests a refresh. The controller keeps the refresh and requests a
// complete sync.
func (d *decision) dropOperation() {
	d.replaceOperation(NoOperation)
	d.Dropped = true
	if _, ofSet := d.App.ApplicationSet(); ofSet && d.App.Refresh() == "" {
		d.AskRefresh = "normal"
	}
}

// stamp gives the hub's operation an identity. The change of the Application wakes the controller for the next
// decision.
func (d *decision) stamp() {
	if d.NeedIdentity = d.Identity == ""; d.NeedIdentity {
		return
	}
	if operation, err := WithID(d.App.Operation.Raw, newID(d.Now, d.Identity)); err == nil { // the caller withholds an unreadable operation
		d.replaceOperation(operation)
	}
}

// send replaces the Application in the work with a request for the present version of the cluster's Application.
func (d *decision) send(s Sent, operation json.RawMessage) {
	s.State, s.Version = OnItsWay, d.there.Version
	d.Last, d.Sends, d.SentOperation = s, true, operation
}

// forget removes a finished request from the state of the work: a request neither pending nor running.
func (d *decision) forget() {
	last, shown := d.Last, d.App.Status.OperationState
	runs := d.there.Busy && (last.ID == d.there.Taken || last.ID == TerminationID(d.there.StartedAt))
	asked := d.App.Operation != nil && last.ID == ID(d.App.Operation.Raw) ||
		shown.Terminating() && last.ID == TerminationID(shown.StartedAt)
	if !runs && !asked {
		d.Last = Sent{}
	}
}

// showsOperation reports whether the hub's Application shows the operation taken by its cluster. Until then the
// request stays on the hub: without a request and an operation, a RollingSync would ask again. Both times are from the
// cluster. A cluster's Application without any operation is a new Application. It has replaced the Application that
// took the operation, and will never show the operation.
func (d *decision) showsOperation() bool {
	here, there := d.App.Status.OperationState, d.Seen.Status.OperationState
	if there == nil {
		return d.Seen.Taken == ""
	}
	return here != nil && here.StartedAt >= there.StartedAt
}

// relayRefresh sends a refresh to the cluster, and removes the refresh from the hub after the cluster's answer or a
// timeout. The work loses the refresh in an earlier write. Otherwise the next refresh would be taken for the answered
// refresh.
func (d *decision) relayRefresh(sent Refresh) {
	kind := d.App.Refresh()
	if droppedSince(d.App, sent) {
		sent = Refresh{}
	}
	if kind != "" && kind != sent.Kind {
		// The cache may still show a refresh that the hub has lost.
		if d.NeedIdentity, d.NeedLatest = d.Identity == "", !d.Latest; d.NeedIdentity || d.NeedLatest {
			return
		}
		d.Warning = ptr.To("") // a warning about an earlier refresh is not about this refresh
	}
	answered := refreshed(sent, d.Seen)
	// The hub must first show the time of the cluster's comparison, written by the status controller. After that, the
	// work does not ask for the time any more.
	shown := d.App.Status.ReconciledAt == d.Seen.Status.ReconciledAt
	next, progress, after := sent.next(kind, d.Identity, answered && shown, d.Now)
	if progress == done || progress == timedOut {
		// The hub refuses a write based on an older version. The cluster would then get the refresh again.
		if d.NeedLatest = !d.Latest; d.NeedLatest {
			return
		}
		if d.HubFirst = d.Outdated; d.HubFirst {
			return
		}
	}
	switch {
	case progress == waiting:
		d.Refresh = next
		d.After = gate.Sooner(d.After, after)
	case progress == late:
		d.Refresh = next
		d.late(next.Since)
	case answered:
		d.Warning, d.RefreshEnds = ptr.To(""), true
	default:
		d.Warning, d.RefreshEnds = ptr.To(fmt.Sprintf("cluster %s has not refreshed within %s of the request: is the cluster available? The "+
			"request was dropped",
			d.App.Cluster(), RefreshDeadline)), true
	}
}

// droppedSince reports whether a sent refresh was dropped with a warning, while its work could not be changed. The
// cluster's answer to the dropped refresh does not count for a later refresh. Towline's own refresh is never dropped.
func droppedSince(app *argocd.Application, sent Refresh) bool {
	if sent.Kind == "" || sent.Kind == apis.RefreshSpecChanged {
		return false
	}
	i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionRefreshWarning)
	if i < 0 || app.Status.Conditions[i].LastTransitionTime == nil {
		return false
	}
	return !app.Status.Conditions[i].LastTransitionTime.Time.Before(sent.Since)
}

// late warns once that the cluster has not compared the change, despite Towline's requests since then. A warning
// about another cluster, before a move, or about an earlier request is replaced.
func (d *decision) late(since time.Time) {
	warning := fmt.Sprintf("the Application has changed, and cluster %s has not compared the new form, although Towline has requested a "+
		"comparison since %s: is the cluster available, and does the application controller of its Argo CD "+
		"run?", d.App.Cluster(), since.UTC().Format(time.RFC3339))
	shown := d.App.Status.Conditions
	if i := argocd.IndexCondition(shown, apis.ConditionRefreshWarning); i < 0 || shown[i].Message != warning {
		d.Warning = &warning
	}
}

// uncompared reports whether the cluster has not compared the present content of the Application, while the hub shows
// Synced or would go on to show Synced. A RollingSync (Argo CD 3.5) takes a Synced and Healthy Application for
// finished, and would start the next step, or forget the present step (argo-cd#29410). So the hub shows the missing
// comparison before the change is sent, and requests a comparison until a comparison is made. A refresh by a user
// counts too. An Application of a set may be synced on the cluster already, while the hub still shows OutOfSync.
func (d *decision) uncompared(sent Stored) bool {
	s := d.App.Status.Sync
	if d.Work.Respecified {
		_, ofSet := d.App.ApplicationSet()
		return s != nil && (s.Status == "Synced" || ofSet) || sent.Uncompared || d.App.SpecChanged()
	}
	return sent.Uncompared && (sent.Refresh.Kind == "" || !refreshed(sent.Refresh, d.Seen))
}

// changedAt returns the revision at which the content of an ApplicationSet's Application has changed, while the
// Application is not synced. The status controller hides the revision.
func (d *decision) changedAt(before string) string {
	_, ofSet := d.App.ApplicationSet()
	reported := d.Seen.Status.Sync
	switch {
	case !ofSet:
		return ""
	case reported == nil:
		return before
	case d.Work.Respecified:
		return reported.At()
	case reported.At() != before, reported.Status == "Synced" && !d.Uncompared:
		return ""
	}
	return before
}

// refreshed reports whether the cluster's Argo CD has answered a refresh. As proof, the agent has read the Application
// with the identity of the refresh, and without the refresh annotation. The agent applies both in one write. Argo CD
// (2 and 3) removes the refresh annotation in the write of the comparison.
func refreshed(sent Refresh, seen *feedback.Observation) bool {
	return seen.Complete && seen.RefreshRequest == sent.ID && !seen.RefreshPending
}

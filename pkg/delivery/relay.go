package delivery

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// relaying brings the requests of an Application on their way: an operation, its termination, and a refresh. It collects what
// becomes of them, for the work and for the hub's Application.
type relaying struct {
	*view

	// to is the Application at the target where its work may have it now.
	to *argocd.Application

	// withheld is set when the requested operation may not travel.
	withheld bool

	// seen is what the cluster reports.
	seen feedback.Observation

	// requests are what the work is to remember.
	requests work.Requests

	// carry is what the work is to carry instead of the Application; nil for the Application.
	carry *work.Request

	// unanswered asks to leave what the work carries as it is: the agent has not answered yet.
	unanswered bool

	// told is set when the hub's Application is to be written: that wakes the decision that goes on.
	told bool

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration

	// need are facts to read first, and unread says why the operation cannot be read.
	need   Need
	unread verdict

	// operation replaces that of the hub's Application, and askRefresh is a refresh to ask for there; empty for no change.
	operation  json.RawMessage
	askRefresh string

	// refresh is what the Application is to show of a refresh, empty for nothing; nil to leave what it shows. refreshEnds is set when
	// the request goes from the hub.
	refresh     *string
	refreshEnds bool

	// events are told with the plan.
	events []Event
}

// relay brings the requests of the Application on their way, and takes off the Application what has been dealt with. An operation that
// may not travel stays on the hub, where it can be withdrawn, and nothing else waits.
func (d *decision) relay(to *argocd.Application, withheld bool) (*relaying, *block) {
	r := &relaying{view: &d.view, to: to, withheld: withheld}
	if d.withdrawSent(d.Others) || d.Own != nil && d.deletionRequested(d.Own) && d.withdrawSent(works{d.Own}) {
		r.told = true
		return r, nil
	}
	r.run()
	if d.require(r.need) {
		return r, &block{}
	}
	if r.operation != nil {
		d.plan.hub().Operation = r.operation
	}
	if r.askRefresh != "" {
		d.plan.hub().Annotations = map[string]*string{apis.AnnotationRefresh: &r.askRefresh}
	}
	switch {
	case r.refreshEnds:
		d.dropRefresh(*r.refresh)
	case r.refresh != nil:
		d.refresh = r.refresh
	}
	d.plan.Events = append(d.plan.Events, r.events...)
	if r.unread.Words != "" {
		return r, d.plan.blockAt(operationUnread, r.unread)
	}
	return r, nil
}

// run relays the operation first, then the refresh. It ends where the hub's Application has to be written before the rest.
func (r *relaying) run() {
	var sent work.Requests
	if r.Own != nil {
		sent = work.Sent(r.Own)
		r.seen = feedback.Parse(&r.Own.Status, work.Identifier(r.to))
		r.requests, r.unanswered = answered(r.Own, sent.Last, r.wanted(sent.Last), operations(&r.seen), r.Now)
		respecified := work.Respecified(r.Own, r.to)
		r.requests.Uncompared = r.uncompared(sent, respecified)
		r.requests.ChangedAt = r.changedAt(sent.ChangedAt, respecified, r.requests.Uncompared, r.seen.Status.Sync)
		if r.requests.Uncompared && r.to.Refresh() == "" {
			r.askRefresh, r.told = apis.RefreshSpecChanged, true
			r.refresh = ptr.To("") // what is said of an earlier one is not true of this one
			return
		}
		if respecified && !r.unanswered { // an answer to the refresh that the work carries is about another spec
			sent.Refresh = relay.Refresh{}
		}
	}
	if !r.unanswered {
		there := operations(&r.seen)
		there.Ready = r.Own != nil && applied(r.Own) && sent.Last.State != relay.OnItsWay && !work.Behind(r.Own, r.to)
		r.relayOperation(there)
	}
	if r.stops() {
		return
	}
	r.relayRefresh(sent.Refresh)
	if !r.stops() {
		r.requests.Volatile = r.requesting() || r.volatile()
	}
}

// stops tells whether nothing more can be relayed now.
func (r *relaying) stops() bool { return r.told || r.need != 0 || r.unread.Words != "" }

// requesting tells whether a request is asked for, or on its way, or has not been seen to be over.
func (r *relaying) requesting() bool {
	return r.requests.Refresh.Kind != "" || r.requests.Last.State != "" || stopping(r.to) || r.to.Operation != nil && !r.withheld
}

// render is what the Application's work is to be.
func (r *relaying) render() (*workv1.ManifestWork, error) {
	desired, err := work.Render(r.to, r.requests)
	switch {
	case err != nil:
		return nil, err
	case r.unanswered:
		r.Own.Spec.DeepCopyInto(&desired.Spec)
		if mode := work.UpdateModeOf(r.Own); mode != work.ForceApply {
			work.SetUpdateMode(desired, mode)
		}
	case r.carry != nil:
		err = work.Carry(desired, r.to, *r.carry)
	}
	return desired, err
}

// answered is what a work is to remember of the request that it carried last: the request stays in the work, unanswered, while it is on its
// way and still wanted; otherwise it is over or remembered by what the agent said. The work carries the Application again as soon as it
// can.
func answered(
	existing *workv1.ManifestWork, last relay.Sent, wanted string, there relay.Cluster, now time.Time,
) (requests work.Requests, unanswered bool) {
	switch {
	case last.State != relay.OnItsWay:
	case work.Outcome(existing) == metav1.ConditionTrue, relay.Stopped(last, there): // its end can be seen before the agent's answer
		last.State = relay.Delivered
	case work.Outdated(existing):
		last.State = relay.Refused
	case work.Outcome(existing) == metav1.ConditionFalse:
		last.State, last.Since = relay.Failed, now
	case last.ID == wanted:
		return work.Requests{Last: last}, true
	default: // withdrawn before the cluster heard of it
		return work.Requests{}, false
	}
	return work.Requests{Last: last}, false
}

// wanted is the identity of the request that the hub's Application makes now, and that may travel.
func (r *relaying) wanted(last relay.Sent) string {
	if s := r.to.Status.OperationState; s != nil && s.Phase == "Terminating" && operations(&r.seen).Busy {
		return relay.TerminationID(s.StartedAt)
	}
	if r.withheld || r.to.Operation == nil || relay.Withdraws(r.to.Status.OperationState, last) {
		return ""
	}
	return relay.ID(r.to.Operation.Raw)
}

// relayOperation goes on from what the work remembers.
func (r *relaying) relayOperation(there relay.Cluster) {
	app := r.to
	last, left := r.requests.Last.Retry(r.Now)
	if s := app.Status.OperationState; s != nil && relay.Terminate(s, last, there) {
		r.send(relay.Sent{ID: relay.TerminationID(s.StartedAt), Version: there.Version}, nil)
		return
	}
	var operation json.RawMessage
	if app.Operation != nil {
		operation = app.Operation.Raw
	}
	if len(operation) > 0 && !there.Busy && relay.Withdraws(app.Status.OperationState, last) {
		r.replaceOperation(none)
		return
	}
	if stopping(app) && app.Status.OperationState.StartedAt == there.StartedAt && relay.Stopped(last, there) {
		return // the status controller is about to tell of its end, and its write wakes this one
	}
	if r.withheld {
		operation = nil
	}
	switch relay.Operation(operation, last, there) {
	case relay.Stamp:
		r.stamp()
	case relay.Send:
		r.send(relay.Sent{ID: relay.ID(operation), Version: there.Version, Digest: relay.Digest(operation)}, operation)
	case relay.Clear:
		if showsOperation(app, &r.seen) { // otherwise the status controller is about to, and its write wakes this one
			r.replaceOperation(none)
		}
	case relay.Drop:
		r.dropOperation()
	case relay.None:
		if r.forget(there); r.requests.Last.State == relay.Failed {
			r.after = left
		}
	}
}

// none is the operation of an Application that asks for none.
var none = json.RawMessage("null")

// replaceOperation replaces the operation of the version of the Application that was read.
func (r *relaying) replaceOperation(by json.RawMessage) { r.operation, r.told = by, true }

// dropOperation takes an operation off the hub that asks for nothing, and says so.
//
// It may be what is left of a sync that a RollingSync asks for once more. The ApplicationSet controller (Argo CD 2.14 to 3.5) waits for
// that sync, and looks at the set again for nothing that an operation changes. It does for an annotation: a refresh, which it
// leaves in place, has it ask in full.
func (r *relaying) dropOperation() {
	r.replaceOperation(none)
	if _, ofSet := r.to.ApplicationSet(); ofSet && r.to.Refresh() == "" {
		r.askRefresh = "normal"
	}
	r.events = append(r.events, Event{
		Warning: true, Reason: apis.ReasonOperationInvalid, Action: "Propagate",
		Note: "the requested operation had no sync, so it asked for nothing, and was removed. Request it again if you still want a sync",
	})
}

// stamp gives the hub's operation an identity. The change of the Application wakes the decision that sends it.
func (r *relaying) stamp() {
	if !r.knows(NeedIdentity) {
		r.need = NeedIdentity
		return
	}
	operation, err := relay.WithID(r.to.Operation.Raw, relay.NewID(r.Now, r.Identity))
	if err != nil {
		r.unread = unreadOperation(err)
		return
	}
	r.replaceOperation(operation)
}

// send lets the work carry a request.
func (r *relaying) send(s relay.Sent, operation json.RawMessage) {
	s.State, s.Instead = relay.OnItsWay, work.Brings(r.Own)
	r.requests.Last = s
	r.carry = &work.Request{Operation: operation, Version: s.Version}
}

// forget drops what the work remembers of a request that is over: it is not asked for, and does not run.
func (r *relaying) forget(there relay.Cluster) {
	last := r.requests.Last
	runs := there.Busy && (last.ID == there.Taken || last.ID == relay.TerminationID(there.StartedAt))
	asked := r.to.Operation != nil && last.ID == relay.ID(r.to.Operation.Raw) ||
		stopping(r.to) && last.ID == relay.TerminationID(r.to.Status.OperationState.StartedAt)
	if !runs && !asked {
		r.requests.Last = relay.Sent{}
	}
}

// showsOperation tells whether the hub's Application shows the operation that its cluster has taken. Until then the
// request stays: whoever sees neither, as RollingSync does, would ask again. Both times are the cluster's. An Application
// that knows of no operation has taken the place of the one that took the request, and will never show it.
func showsOperation(app *argocd.Application, seen *feedback.Observation) bool {
	here, there := app.Status.OperationState, seen.Status.OperationState
	if there == nil {
		return seen.Taken == ""
	}
	return here != nil && here.StartedAt >= there.StartedAt
}

// stopping tells whether the hub's status shows an operation that is to be stopped.
func stopping(app *argocd.Application) bool {
	return app.Status.OperationState != nil && app.Status.OperationState.Phase == "Terminating"
}

// relayRefresh brings a refresh on its way, and takes it off the hub when the cluster has answered, or has not in time. The work stops
// carrying it with the write before that, or the next refresh that somebody asks for would be taken for this one, and for answered.
func (r *relaying) relayRefresh(sent relay.Refresh) {
	kind := r.to.Refresh()
	if droppedSince(r.to, sent) {
		sent = relay.Refresh{}
	}
	if kind != "" && kind != sent.Kind {
		// The cache may still show a refresh that the hub does not have any more.
		if r.need = (NeedIdentity | NeedLatest) &^ r.Known; r.need != 0 {
			return
		}
		r.refresh = ptr.To("") // what is said of an earlier one is not true of this one
	}
	answered := refreshed(sent, &r.seen)
	// Until the hub shows when the cluster has compared, which the status controller is about to write: then the work
	// does not ask for it any more.
	shown := r.to.Status.ReconciledAt == r.seen.Status.ReconciledAt
	next, outcome, after := sent.Next(kind, r.Identity, answered && shown, r.Now)
	if outcome == relay.Done || outcome == relay.TimedOut {
		// The hub refuses a write that is made from an older version. The cluster would be asked again then.
		if !r.knows(NeedLatest) {
			r.need = NeedLatest
			return
		}
		if r.told = r.Outdated; r.told {
			return
		}
	}
	switch {
	case outcome == relay.Waiting:
		r.requests.Refresh, r.after = next, soonest(r.after, after)
	case outcome == relay.Late:
		r.requests.Refresh = next
		r.late(next.Since)
	case answered:
		r.refresh, r.refreshEnds = ptr.To(""), true
	default:
		r.refresh, r.refreshEnds = ptr.To(fmt.Sprintf("cluster %s has not refreshed within %s of the request: is it available? The request was dropped",
			r.to.Cluster(), relay.RefreshDeadline)), true
	}
}

// droppedSince tells whether a refresh was dropped after it was sent, with a warning, while its work could not be changed. What its cluster
// says of it answers no later one. Towline's own is never dropped.
func droppedSince(app *argocd.Application, sent relay.Refresh) bool {
	if sent.Kind == "" || sent.Kind == apis.RefreshSpecChanged {
		return false
	}
	i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionRefreshWarning)
	if i < 0 || app.Status.Conditions[i].LastTransitionTime == nil {
		return false
	}
	return !app.Status.Conditions[i].LastTransitionTime.Time.Before(sent.Since)
}

// late says once that the cluster has not compared what has changed, which it has been asked to since then. What is said of another
// cluster, before a move, or of an earlier request is not true of this one.
func (r *relaying) late(since time.Time) {
	warning := fmt.Sprintf("the Application has changed, and cluster %s has not compared it, although Towline has asked for that since %s: "+
		"is it available, and does the application controller of its Argo CD run?", r.to.Cluster(), since.UTC().Format(time.RFC3339))
	shown := r.to.Status.Conditions
	if i := argocd.IndexCondition(shown, apis.ConditionRefreshWarning); i < 0 || shown[i].Message != warning {
		r.refresh = &warning
	}
}

// uncompared tells whether the cluster has not compared what the Application deploys now, though the hub says, or would go on saying,
// that all is synced. A RollingSync (Argo CD 3.5) takes an Application that is Synced and Healthy for done, and would go on to the
// next step, or forget this one (argo-cd#29410). So the hub says so before the change goes out, and asks for a comparison, until
// one has been made: a refresh that somebody else asks for tells of that too. An Application of a set may be synced there already,
// though the hub still shows it OutOfSync.
func (r *relaying) uncompared(sent work.Requests, respecified bool) bool {
	s := r.to.Status.Sync
	if respecified {
		_, ofSet := r.to.ApplicationSet()
		return s != nil && (s.Status == "Synced" || ofSet) || sent.Uncompared || r.to.SpecChanged()
	}
	return sent.Uncompared && (sent.Refresh.Kind == "" || !refreshed(sent.Refresh, &r.seen))
}

// changedAt is the revision at which what an ApplicationSet's Application deploys has changed, while it is not synced: the
// status controller hides it. reported is the comparison that its cluster tells of.
func (r *relaying) changedAt(before string, respecified, uncompared bool, reported *argocd.Sync) string {
	_, ofSet := r.to.ApplicationSet()
	switch {
	case !ofSet:
		return ""
	case reported == nil:
		return before
	case respecified:
		return reported.At()
	case reported.At() != before, reported.Status == "Synced" && !uncompared:
		return ""
	}
	return before
}

// refreshed tells whether the cluster's Argo CD has answered a refresh: the Application there was read with its identity, and
// without the refresh itself. Both are applied in one write, and Argo CD (2 and 3) takes the refresh off in the one that tells
// of the comparison.
func refreshed(sent relay.Refresh, seen *feedback.Observation) bool {
	return seen.Complete && seen.RefreshRequest == sent.ID && !seen.RefreshPending
}

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

// relayed is what relaying the Application's requests comes to.
type relayed struct {
	// requests are what the work is to remember.
	requests work.Requests

	// carry is what the work is to carry instead of the Application; nil for the Application.
	carry *work.Request

	// hold asks to leave what the work carries as it is: the agent has not answered yet.
	hold bool

	// done is set when the hub's Application is to be written: that wakes the decision that goes on.
	done bool

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration
}

// render is what the Application's work is to be.
func (r *relayed) render(d *decision) (*workv1.ManifestWork, error) {
	desired, err := work.Render(d.to, r.requests)
	switch {
	case err != nil:
		return nil, err
	case r.hold:
		d.Own.Spec.DeepCopyInto(&desired.Spec)
		if mode := work.UpdateModeOf(d.Own); mode != work.ForceApply {
			work.SetUpdateMode(desired, mode)
		}
	case r.carry != nil:
		err = work.Carry(desired, d.to, *r.carry)
	}
	return desired, err
}

// relay brings the operation, its termination and the refresh that the hub's Application asks for on their way, and takes off
// the Application what has been dealt with. An operation that may not travel stays on the hub, where it can be withdrawn, and
// nothing else waits.
func (d *decision) relay() (out relayed, h *hold) {
	if d.withdrawSent(d.Others) || d.Own != nil && d.leaving(d.Own) && d.withdrawSent(works{d.Own}) {
		out.done = true
		return out, nil
	}
	var sent work.Requests
	var seen feedback.Observation
	if d.Own != nil {
		sent = work.Sent(d.Own)
		seen = feedback.Parse(&d.Own.Status, work.Identifier(d.to))
		out = answered(d.Own, sent.Last, d.wanted(&seen, sent.Last), operations(&seen), d.Now)
		respecified := work.Respecified(d.Own, d.to)
		out.requests.Uncompared = d.uncompared(sent, respecified, &seen)
		out.requests.ChangedAt = d.changedAt(sent.ChangedAt, respecified, out.requests.Uncompared, seen.Status.Sync)
		if out.requests.Uncompared && d.to.Refresh() == "" {
			d.hub().Annotations = map[string]*string{apis.AnnotationRefresh: ptr.To(apis.RefreshSpecChanged)}
			d.refresh = ptr.To("") // what is said of an earlier one is not true of this one
			out.done = true
			return out, nil
		}
		if respecified && !out.hold { // an answer to the refresh that the work carries is about another spec
			sent.Refresh = relay.Refresh{}
		}
	}
	if !out.hold {
		there := operations(&seen)
		there.Ready = d.Own != nil && applied(d.Own) && sent.Last.State != relay.OnItsWay && !work.Behind(d.Own, d.to)
		if h := d.relayOperation(&seen, there, &out); h != nil || out.done {
			return out, h
		}
	}
	if h := d.relayRefresh(sent.Refresh, &seen, &out); h != nil || out.done {
		return out, h
	}
	out.requests.Volatile = d.requests(&out) || d.volatile(&seen)
	return out, nil
}

// requests tells whether a request is asked for, or on its way, or has not been seen to be over.
func (d *decision) requests(out *relayed) bool {
	return out.requests.Refresh.Kind != "" || out.requests.Last.State != "" || stopping(d.to) || d.to.Operation != nil && d.withheld == nil
}

// answered is how the request stands that the work carried last: held while it is on its way and still wanted,
// otherwise over or remembered by what the agent said. The work carries the Application again as soon as it can.
func answered(existing *workv1.ManifestWork, last relay.Sent, wanted string, there relay.Cluster, now time.Time) relayed {
	switch {
	case last.State != relay.OnItsWay:
	case work.Outcome(existing) == metav1.ConditionTrue, relay.Stopped(last, there): // its end can be seen before the agent's answer
		last.State = relay.Delivered
	case work.Outdated(existing):
		last.State = relay.Refused
	case work.Outcome(existing) == metav1.ConditionFalse:
		last.State, last.Since = relay.Failed, now
	case last.ID == wanted:
		return relayed{requests: work.Requests{Last: last}, hold: true}
	default: // withdrawn before the cluster heard of it
		return relayed{}
	}
	return relayed{requests: work.Requests{Last: last}}
}

// wanted is the identity of the request that the hub's Application makes now, and that may travel.
func (d *decision) wanted(seen *feedback.Observation, last relay.Sent) string {
	if s := d.to.Status.OperationState; s != nil && s.Phase == "Terminating" && operations(seen).Busy {
		return relay.TerminationID(s.StartedAt)
	}
	if d.withheld != nil || d.to.Operation == nil || relay.Withdraws(d.to.Status.OperationState, last) {
		return ""
	}
	return relay.ID(d.to.Operation.Raw)
}

// relayOperation goes on from what out remembers.
func (d *decision) relayOperation(seen *feedback.Observation, there relay.Cluster, out *relayed) *hold {
	app := d.to
	last, left := out.requests.Last.Retry(d.Now)
	if s := app.Status.OperationState; s != nil && relay.Terminate(s, last, there) {
		out.send(d.Own, relay.Sent{ID: relay.TerminationID(s.StartedAt), Version: there.Version}, nil)
		return nil
	}
	var operation json.RawMessage
	if app.Operation != nil {
		operation = app.Operation.Raw
	}
	if len(operation) > 0 && !there.Busy && relay.Withdraws(app.Status.OperationState, last) {
		d.takeOperation(none, out)
		return nil
	}
	if stopping(app) && app.Status.OperationState.StartedAt == there.StartedAt && relay.Stopped(last, there) {
		return nil // the status controller is about to tell of its end, and its write wakes this one
	}
	if d.withheld != nil {
		operation = nil
	}
	switch relay.Operation(operation, last, there) {
	case relay.Stamp:
		return d.stamp(out)
	case relay.Send:
		out.send(d.Own, relay.Sent{ID: relay.ID(operation), Version: there.Version, Digest: relay.Digest(operation)}, operation)
	case relay.Clear:
		if showsOperation(app, seen) { // otherwise the status controller is about to, and its write wakes this one
			d.takeOperation(none, out)
		}
	case relay.Drop:
		d.dropOperation(out)
	case relay.None:
		if out.forget(app, there); out.requests.Last.State == relay.Failed {
			out.after = left
		}
	}
	return nil
}

// none is the operation of an Application that asks for none.
var none = json.RawMessage("null")

// takeOperation replaces the operation of the version of the Application that was read.
func (d *decision) takeOperation(by json.RawMessage, out *relayed) {
	d.hub().Operation = by
	out.done = true
}

// sentBy is the first of these works that has carried the requested operation and may have brought it; nil if none has. No cluster can make
// that up: it would have to know the operation's identity.
func (d *decision) sentBy(ws works) *workv1.ManifestWork {
	if d.App.Operation == nil {
		return nil
	}
	id := relay.ID(d.App.Operation.Raw)
	for _, w := range ws {
		last := work.Sent(w).Last
		refused := last.State == relay.Refused || last.State == relay.OnItsWay && work.Outdated(w)
		if id != "" && last.ID == id && !refused { // what failed for another reason may have arrived
			return w
		}
	}
	return nil
}

// withdrawSent takes the requested operation off the hub if one of these works has carried it: it may have run, and it runs once. Only the
// work remembers that, so this comes before the work goes. It tells whether there was such an operation.
func (d *decision) withdrawSent(ws works) bool {
	w := d.sentBy(ws)
	switch {
	case w == nil:
		return false
	case d.hub().Operation != nil:
		return true
	}
	d.hub().Operation, d.plan.TellFirst = none, true
	d.plan.Events = append(d.plan.Events, Event{
		Related: w, Warning: true, Reason: apis.ReasonOperationWithdrawn, Action: "Propagate",
		Note: fmt.Sprintf("the requested operation was sent to cluster %s by ManifestWork %s, which will be deleted, so it was removed from the "+
			"Application. It may have run there. Request it again if you still want a sync", w.Namespace, w.Name),
	})
	return true
}

// withdrawGoing does so for works whose deletion has been asked for, by whomever. An Application that is being deleted gets no other work,
// which could bring the operation again.
func (d *decision) withdrawGoing() {
	if d.App != nil && d.App.DeletionTimestamp.IsZero() {
		d.withdrawSent(only(d.all(), d.leaving))
	}
}

// askRequested is for a work that has carried the operation which the hub still asks for: the next work would send it once more. It does
// not hold a revocation, since an author could ask for the same operation again and again. The write of the hub's Application wakes
// the decision that goes on, but for one without the label, of which only the metadata is watched.
func askRequested(d *decision, q question) answer {
	if d.App == nil || !d.App.DeletionTimestamp.IsZero() || !d.withdrawSent(works{q.work}) {
		return open
	}
	a := because("the requested operation was sent to cluster %s, and is removed from the Application first", q.work.Namespace)
	if d.Presence == Unlabelled {
		a.After = poll
	}
	return a
}

// dropOperation takes an operation off the hub that asks for nothing, and says so.
//
// It may be what is left of a sync that a RollingSync asks for once more. The ApplicationSet controller (Argo CD 2.14 to 3.5) waits for
// that sync, and looks at the set again for nothing that an operation changes. It does for an annotation: a refresh, which it
// leaves in place, has it ask in full.
func (d *decision) dropOperation(out *relayed) {
	d.takeOperation(none, out)
	if _, ofSet := d.to.ApplicationSet(); ofSet && d.to.Refresh() == "" {
		d.hub().Annotations = map[string]*string{apis.AnnotationRefresh: ptr.To("normal")}
	}
	d.plan.Events = append(d.plan.Events, Event{
		Warning: true, Reason: apis.ReasonOperationInvalid, Action: "Propagate",
		Note: "the requested operation had no sync, so it asked for nothing, and was removed. Request it again if you still want a sync",
	})
}

// stamp gives the hub's operation an identity. The change of the Application wakes the decision that sends it.
func (d *decision) stamp(out *relayed) *hold {
	if d.lacks(NeedIdentity) {
		return &hold{}
	}
	operation, err := relay.WithID(d.to.Operation.Raw, relay.NewID(d.Now, d.Identity))
	if err != nil {
		return d.met("operation", unreadOperation(err))
	}
	d.takeOperation(operation, out)
	return nil
}

// send lets the work carry a request.
func (r *relayed) send(w *workv1.ManifestWork, s relay.Sent, operation json.RawMessage) {
	s.State, s.Instead = relay.OnItsWay, work.Brings(w)
	r.requests.Last = s
	r.carry = &work.Request{Operation: operation, Version: s.Version}
}

// forget drops what the work remembers of a request that is over: it is not asked for, and does not run.
func (r *relayed) forget(app *argocd.Application, there relay.Cluster) {
	last := r.requests.Last
	runs := there.Busy && (last.ID == there.Taken || last.ID == relay.TerminationID(there.StartedAt))
	asked := app.Operation != nil && last.ID == relay.ID(app.Operation.Raw) ||
		stopping(app) && last.ID == relay.TerminationID(app.Status.OperationState.StartedAt)
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
func (d *decision) relayRefresh(sent relay.Refresh, seen *feedback.Observation, out *relayed) *hold {
	kind := d.to.Refresh()
	if droppedSince(d.to, sent) {
		sent = relay.Refresh{}
	}
	if kind != "" && kind != sent.Kind {
		if d.lacks(NeedIdentity | NeedLatest) { // the cache may still show a refresh that the hub does not have any more
			return &hold{}
		}
		d.refresh = ptr.To("") // what is said of an earlier one is not true of this one
	}
	answered := refreshed(sent, seen)
	// Until the hub shows when the cluster has compared, which the status controller is about to write: then the work
	// does not ask for it any more.
	shown := d.to.Status.ReconciledAt == seen.Status.ReconciledAt
	next, outcome, after := sent.Next(kind, d.Identity, answered && shown, d.Now)
	if outcome == relay.Done || outcome == relay.TimedOut {
		// The hub refuses a write that is made from an older version. The cluster would be asked again then.
		if d.lacks(NeedLatest) {
			return &hold{}
		}
		if out.done = d.Outdated; out.done {
			return nil
		}
	}
	switch {
	case outcome == relay.Waiting:
		out.requests.Refresh, out.after = next, soonest(out.after, after)
	case outcome == relay.Late:
		out.requests.Refresh = next
		d.late(next.Since)
	case answered:
		d.dropRefresh("")
	default:
		d.dropRefresh(fmt.Sprintf("cluster %s has not refreshed within %s of the request: is it available? The request was dropped",
			d.to.Cluster(), relay.RefreshDeadline))
	}
	return nil
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
func (d *decision) late(since time.Time) {
	warning := fmt.Sprintf("the Application has changed, and cluster %s has not compared it, although Towline has asked for that since %s: "+
		"is it available, and does the application controller of its Argo CD run?", d.to.Cluster(), since.UTC().Format(time.RFC3339))
	shown := d.to.Status.Conditions
	if i := argocd.IndexCondition(shown, apis.ConditionRefreshWarning); i < 0 || shown[i].Message != warning {
		d.refresh = &warning
	}
}

// uncompared tells whether the cluster has not compared what the Application deploys now, though the hub says, or would go on saying,
// that all is synced. A RollingSync (Argo CD 3.5) takes an Application that is Synced and Healthy for done, and would go on to the
// next step, or forget this one (argo-cd#29410). So the hub says so before the change goes out, and asks for a comparison, until
// one has been made: a refresh that somebody else asks for tells of that too. An Application of a set may be synced there already,
// though the hub still shows it OutOfSync.
func (d *decision) uncompared(sent work.Requests, respecified bool, seen *feedback.Observation) bool {
	s := d.to.Status.Sync
	if respecified {
		_, ofSet := d.to.ApplicationSet()
		return s != nil && (s.Status == "Synced" || ofSet) || sent.Uncompared || d.to.SpecChanged()
	}
	return sent.Uncompared && (sent.Refresh.Kind == "" || !refreshed(sent.Refresh, seen))
}

// changedAt is the revision at which what an ApplicationSet's Application deploys has changed, while it is not synced: the
// status controller hides it. reported is the comparison that its cluster tells of.
func (d *decision) changedAt(before string, respecified, uncompared bool, reported *argocd.Sync) string {
	_, ofSet := d.to.ApplicationSet()
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

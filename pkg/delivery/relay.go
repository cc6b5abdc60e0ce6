package delivery

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

// relaying sends the requests of an Application to the cluster: an operation, its termination, and a refresh.
// relaying collects the results for the work and for the hub's Application.
type relaying struct {
	*view

	// to is the Application, at the target that is allowed now.
	to *argocd.Application

	// withheld is true if the requested operation stays on the hub: see withhold.
	withheld bool

	// seen is the cluster's report.
	seen *feedback.Observation

	// requests are the requests to be stored in the work.
	requests work.Requests

	// carry is the request that takes the place of the Application in the work; nil if the work carries the
	// Application.
	carry *work.Request

	// replaced returns work.PackReplaced of the own work. The compression takes time, so a decision packs once.
	replaced func() (kept string, fits bool)

	// unanswered is true if the content of the work must stay, because the agent has not answered yet.
	unanswered bool

	// changed is true if the agent must apply the work again.
	changed bool

	// told is true if the hub's Application must be written first. The write wakes the controller for the next
	// decision.
	told bool

	// after is the time until the next decision without a change; zero for never.
	after time.Duration

	// need are the facts to read first. unread is the problem of an unreadable operation.
	need   Need
	unread block

	// operation replaces the operation of the hub's Application, and askRefresh is a refresh to request on the hub;
	// empty for no change.
	operation  json.RawMessage
	askRefresh string

	// refresh is the refresh warning for the Application: empty for no warning, nil for no change. refreshEnds is
	// true if the request is to be removed from the hub's Application.
	refresh     *string
	refreshEnds bool

	// events are sent with the plan.
	events []Event
}

// relay sends the requests of the Application to the cluster, and removes finished requests from the Application. A
// forbidden operation stays on the hub, where a user can withdraw the operation, and blocks no other request.
func (d *decision) relay(to *argocd.Application, withheld bool) (*relaying, *block) {
	r := &relaying{view: &d.view, to: to, withheld: withheld}
	r.replaced = sync.OnceValues(func() (string, bool) { return work.PackReplaced(r.Own) })
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
	if r.unread.Message != "" {
		return r, d.plan.blockAt(operationUnread, r.unread)
	}
	return r, nil
}

// run relays the operation first, then the refresh. run returns early if the hub's Application must be written first.
func (r *relaying) run() {
	var sent work.Requests
	r.seen = &feedback.Observation{}
	if r.Own != nil {
		sent = work.Sent(r.Own)
		r.seen = r.report(r.Own, r.to)
		r.requests, r.unanswered = answered(r.statuses[r.Own], sent.Last, r.wanted(sent.Last), operations(r.seen), r.Now)
		respecified := work.Respecified(r.Own, r.to)
		r.requests.Uncompared = r.uncompared(sent, respecified)
		r.requests.ChangedAt = r.changedAt(sent.ChangedAt, respecified, r.requests.Uncompared, r.seen.Status.Sync)
		if r.requests.Uncompared && r.to.Refresh() == "" {
			r.askRefresh, r.told = apis.RefreshSpecChanged, true
			r.refresh = ptr.To("") // a warning about an earlier refresh is not about this refresh
			return
		}
		if respecified && !r.unanswered { // an answer to the refresh in the work is about the earlier spec
			sent.Refresh = relay.Refresh{}
		}
	}
	if !r.unanswered {
		there := operations(r.seen)
		there.Ready = r.Own != nil && r.statuses[r.Own].applied && sent.Last.State != relay.OnItsWay && !work.Behind(r.Own, r.to)
		r.relayOperation(there)
	}
	if r.stops() {
		return
	}
	r.relayRefresh(sent.Refresh)
	if !r.stops() {
		r.requests.Volatile = r.requesting() || r.volatile()
		asks, remaining := detailed(r.Own, r.seen, r.Now)
		r.requests.Details, r.after = asks, soonest(r.after, remaining)
		r.requests.Watched = r.Watched
	}
}

// stops reports whether nothing more can be relayed now.
func (r *relaying) stops() bool { return r.told || r.need != 0 || r.unread.Message != "" }

// requesting reports whether a request is pending, on its way, or not yet seen as finished.
func (r *relaying) requesting() bool {
	return r.requests.Refresh.Kind != "" || r.requests.Last.State != "" || stopping(r.to) || r.to.Operation != nil && !r.withheld
}

// render returns the desired work of the Application.
func (r *relaying) render() (*workv1.ManifestWork, error) {
	r.requests.Sources = operationReads(r.Own, r.to, r.requests.Last.State, r.carry)
	desired, err := work.Render(r.to, r.requests)
	if err == nil && work.CarriesRequest(desired) {
		kept, _ := r.replaced()
		work.StoreReplaced(desired, kept)
	}
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

// operationReads returns the names of the repositories that an operation from the hub may read, until the end of the
// operation: a rollback may read a repository that the spec has lost. carry is the request to be sent; nil for none.
func operationReads(own *workv1.ManifestWork, app *argocd.Application, last relay.State, carry *work.Request) (names []string) {
	if last != relay.OnItsWay && last != relay.Delivered {
		return nil
	}
	if carry != nil {
		for _, repo := range source.OfOperation(carry.Operation) {
			names = append(names, source.Name(app.Project(), repo))
		}
	}
	return append(names, source.ReadNames(own.Annotations[apis.AnnotationSources])...)
}

// answered returns the state to store about the last request of a work. A request on its way stays in the work,
// unanswered, while the request is still wanted. Otherwise the state follows from the agent's answer, and the work
// carries the Application again as soon as possible.
func answered(
	status workStatus, last relay.Sent, wanted string, there relay.Cluster, now time.Time,
) (requests work.Requests, unanswered bool) {
	switch {
	case last.State != relay.OnItsWay:
	case status.outcome == metav1.ConditionTrue, relay.Stopped(last, there): // visible before the agent's answer
		last.State = relay.Delivered
	case status.outdated:
		last.State = relay.Refused
	case status.outcome == metav1.ConditionFalse:
		last.State, last.Since = relay.Failed, now
	case last.ID == wanted:
		return work.Requests{Last: last}, true
	default: // withdrawn before the delivery to the cluster
		return work.Requests{}, false
	}
	return work.Requests{Last: last}, false
}

// wanted returns the identity of the hub Application's present and permitted request.
func (r *relaying) wanted(last relay.Sent) string {
	if s := r.to.Status.OperationState; s != nil && s.Phase == "Terminating" && operations(r.seen).Busy {
		return relay.TerminationID(s.StartedAt)
	}
	if r.withheld || r.to.Operation == nil || relay.Withdraws(r.to.Status.OperationState, last) {
		return ""
	}
	return relay.ID(r.to.Operation.Raw)
}

// relayOperation takes the next step of an operation, from the state stored in the work.
func (r *relaying) relayOperation(there relay.Cluster) {
	app := r.to
	last, remaining := r.requests.Last.Retry(r.Now)
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
		return // the status controller is about to write the end of the operation, and the write wakes this controller
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
		if showsOperation(app, r.seen) { // otherwise the status controller is about to show the operation, and the write wakes this controller
			r.replaceOperation(none)
		}
	case relay.Drop:
		r.dropOperation()
	case relay.None:
		if r.forget(there); r.requests.Last.State == relay.Failed {
			r.after = remaining
		}
	}
}

// none is the JSON value for no operation.
var none = json.RawMessage("null")

// replaceOperation plans a new operation for the hub's Application. The patch is bound to the version as read.
func (r *relaying) replaceOperation(by json.RawMessage) { r.operation, r.told = by, true }

// dropOperation removes an operation without a sync from the hub, and sends an event. Such an operation requests
// nothing.
//
// The operation may be the rest of a repeated sync of a RollingSync. The ApplicationSet controller (Argo CD 2.14 to
// 3.5) waits for the sync. A change of an operation does not make the controller process the set again, but a change
// of an annotation does. So dropOperation also requests a refresh. The controller keeps the refresh and requests a
// complete sync.
func (r *relaying) dropOperation() {
	r.replaceOperation(none)
	if _, ofSet := r.to.ApplicationSet(); ofSet && r.to.Refresh() == "" {
		r.askRefresh = "normal"
	}
	r.events = append(r.events, Event{
		Warning: true, Reason: apis.ReasonOperationInvalid, Action: "Propagate",
		Note: "the requested operation had no field sync, so Towline removed the operation. Request the operation again, with the field sync, if " +
			"you still want a sync",
	})
}

// stamp gives the hub's operation an identity. The change of the Application wakes the controller for the next
// decision.
func (r *relaying) stamp() {
	if !r.knows(NeedIdentity) {
		r.need = NeedIdentity
		return
	}
	operation, err := relay.WithID(r.to.Operation.Raw, relay.NewID(r.Now, r.Identity))
	if err != nil {
		r.unread = blockf(unreadOperation, err)
		return
	}
	r.replaceOperation(operation)
}

// send replaces the Application in the work with a request. A freeze could not put back a large Application with
// automated sync, so send refuses an operation of such an Application.
func (r *relaying) send(s relay.Sent, operation json.RawMessage) {
	if len(operation) > 0 && work.RunsByItself(r.Own) {
		if _, fits := r.replaced(); !fits {
			r.unread = blockFor(apis.ReasonOperationInvalid, fmt.Sprintf("the Application has automated sync and more than %d KiB in "+
				"compressed form, so an operation cannot be sent: remove the operation, or move inline values into the Git repository",
				work.MaxReplaced>>10))
			return
		}
	}
	s.State, s.Instead = relay.OnItsWay, work.Brings(r.Own)
	r.requests.Last = s
	r.carry = &work.Request{Operation: operation, Version: s.Version}
}

// forget removes a finished request from the state of the work: a request neither pending nor running.
func (r *relaying) forget(there relay.Cluster) {
	last := r.requests.Last
	runs := there.Busy && (last.ID == there.Taken || last.ID == relay.TerminationID(there.StartedAt))
	asked := r.to.Operation != nil && last.ID == relay.ID(r.to.Operation.Raw) ||
		stopping(r.to) && last.ID == relay.TerminationID(r.to.Status.OperationState.StartedAt)
	if !runs && !asked {
		r.requests.Last = relay.Sent{}
	}
}

// showsOperation reports whether the hub's Application shows the operation taken by its cluster. Until then the
// request stays on the hub: without a request and an operation, a RollingSync would ask again. Both times are from the
// cluster. A cluster's Application without any operation is a new Application. It has replaced the Application that
// took the operation, and will never show the operation.
func showsOperation(app *argocd.Application, seen *feedback.Observation) bool {
	here, there := app.Status.OperationState, seen.Status.OperationState
	if there == nil {
		return seen.Taken == ""
	}
	return here != nil && here.StartedAt >= there.StartedAt
}

// stopping reports whether the hub's status shows an operation to be stopped.
func stopping(app *argocd.Application) bool {
	return app.Status.OperationState != nil && app.Status.OperationState.Phase == "Terminating"
}

// relayRefresh sends a refresh to the cluster, and removes the refresh from the hub after the cluster's answer or a
// timeout. The work loses the refresh in an earlier write. Otherwise the next refresh would be taken for the answered
// refresh.
func (r *relaying) relayRefresh(sent relay.Refresh) {
	kind := r.to.Refresh()
	if droppedSince(r.to, sent) {
		sent = relay.Refresh{}
	}
	if kind != "" && kind != sent.Kind {
		// The cache may still show a refresh that the hub has lost.
		if r.need = (NeedIdentity | NeedLatest) &^ r.Known; r.need != 0 {
			return
		}
		r.refresh = ptr.To("") // a warning about an earlier refresh is not about this refresh
	}
	answered := refreshed(sent, r.seen)
	// The hub must first show the time of the cluster's comparison, written by the status controller. After that, the
	// work does not ask for the time any more.
	shown := r.to.Status.ReconciledAt == r.seen.Status.ReconciledAt
	next, outcome, after := sent.Next(kind, r.Identity, answered && shown, r.Now)
	if outcome == relay.Done || outcome == relay.TimedOut {
		// The hub refuses a write based on an older version. The cluster would then get the refresh again.
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
		r.refresh, r.refreshEnds = ptr.To(fmt.Sprintf("cluster %s has not refreshed within %s of the request: is the cluster available? The "+
			"request was dropped",
			r.to.Cluster(), relay.RefreshDeadline)), true
	}
}

// droppedSince reports whether a sent refresh was dropped with a warning, while its work could not be changed. The
// cluster's answer to the dropped refresh does not count for a later refresh. Towline's own refresh is never dropped.
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

// late warns once that the cluster has not compared the change, despite Towline's requests since then. A warning
// about another cluster, before a move, or about an earlier request is replaced.
func (r *relaying) late(since time.Time) {
	warning := fmt.Sprintf("the Application has changed, and cluster %s has not compared the new form, although Towline has requested a "+
		"comparison since %s: is the cluster available, and does the application controller of its Argo CD "+
		"run?", r.to.Cluster(), since.UTC().Format(time.RFC3339))
	shown := r.to.Status.Conditions
	if i := argocd.IndexCondition(shown, apis.ConditionRefreshWarning); i < 0 || shown[i].Message != warning {
		r.refresh = &warning
	}
}

// uncompared reports whether the cluster has not compared the present content of the Application, while the hub shows
// Synced or would go on to show Synced. A RollingSync (Argo CD 3.5) takes a Synced and Healthy Application for
// finished, and would start the next step, or forget the present step (argo-cd#29410). So the hub shows the missing
// comparison before the change is sent, and requests a comparison until a comparison is made. A refresh by a user
// counts too. An Application of a set may be synced on the cluster already, while the hub still shows OutOfSync.
func (r *relaying) uncompared(sent work.Requests, respecified bool) bool {
	s := r.to.Status.Sync
	if respecified {
		_, ofSet := r.to.ApplicationSet()
		return s != nil && (s.Status == "Synced" || ofSet) || sent.Uncompared || r.to.SpecChanged()
	}
	return sent.Uncompared && (sent.Refresh.Kind == "" || !refreshed(sent.Refresh, r.seen))
}

// changedAt returns the revision at which the content of an ApplicationSet's Application has changed, while the
// Application is not synced. The status controller hides the revision. reported is the comparison reported by the
// cluster.
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

// refreshed reports whether the cluster's Argo CD has answered a refresh. As proof, the agent has read the Application
// with the identity of the refresh, and without the refresh annotation. The agent applies both in one write. Argo CD
// (2 and 3) removes the refresh annotation in the write of the comparison.
func refreshed(sent relay.Refresh, seen *feedback.Observation) bool {
	return seen.Complete && seen.RefreshRequest == sent.ID && !seen.RefreshPending
}

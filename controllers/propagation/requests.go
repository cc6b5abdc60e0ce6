package propagation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// relayed is what relaying the Application's requests comes to in this pass.
type relayed struct {
	// requests are what the work is to remember.
	requests work.Requests

	// carry is what the work is to carry instead of the Application; nil for the Application.
	carry *work.Request

	// withheld is set when the hub's operation may not travel.
	withheld bool

	// hold asks to leave what the work carries as it is: the agent has not answered yet.
	hold bool

	// done is set when the hub Application was written: that wakes the reconcile that goes on.
	done bool

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration
}

// relayRequests brings the operation, its termination and the refresh that the hub Application asks for on their way,
// and takes off the Application what has been dealt with. existing is its work; nil when there is none yet. withheld is
// set when the operation may not travel: then it stays on the hub, where it can be withdrawn, and nothing else waits.
func (r *Reconciler) relayRequests(
	ctx context.Context, app *argocd.Application, existing *workv1.ManifestWork, withheld bool,
) (relayed, error) {
	var sent work.Requests
	var seen feedback.Observation
	out := relayed{withheld: withheld}
	if existing != nil {
		sent = work.Sent(existing)
		seen = feedback.Parse(&existing.Status, work.Identifier(app))
		out = answered(existing, sent.Last, wanted(app, &seen, sent.Last, withheld), there(&seen))
		out.withheld = withheld
	}
	if !out.hold {
		there := there(&seen)
		there.Ready = existing != nil && applied(existing) && sent.Last.State != relay.OnItsWay
		if err := r.relayOperation(ctx, app, &seen, there, &out); err != nil || out.done {
			return out, err
		}
	}
	if err := r.relayRefresh(ctx, app, sent.Refresh, &seen, &out); err != nil || out.done {
		return out, err
	}
	out.requests.Volatile = out.underway(app) || volatile(app, existing, &seen)
	return out, nil
}

// underway tells whether a request is asked for, or on its way, or has not been seen to be over.
func (out *relayed) underway(app *argocd.Application) bool {
	return out.requests.Refresh.Kind != "" || out.requests.Last.State != "" || stopping(app) || app.Operation != nil && !out.withheld
}

// answered is how the request stands that the work carried last: held while it is on its way and still wanted,
// otherwise over or remembered by what the agent said. The work carries the Application again as soon as it can.
func answered(existing *workv1.ManifestWork, last relay.Sent, wanted string, there relay.Cluster) relayed {
	switch {
	case last.State != relay.OnItsWay:
	case work.Outcome(existing) == metav1.ConditionTrue, relay.Stopped(last, there): // its end can be seen before the agent's answer
		last.State = relay.Delivered
	case work.Outcome(existing) == metav1.ConditionFalse:
		last.State = relay.Refused
	case last.ID == wanted:
		return relayed{requests: work.Requests{Last: last}, hold: true}
	default: // withdrawn before the cluster heard of it
		return relayed{}
	}
	return relayed{requests: work.Requests{Last: last}}
}

// wanted is the identity of the request that the hub Application makes now, and that may travel.
func wanted(app *argocd.Application, seen *feedback.Observation, last relay.Sent, withheld bool) string {
	if s := app.Status.OperationState; s != nil && s.Phase == "Terminating" && there(seen).Busy {
		return relay.TerminationID(s.StartedAt)
	}
	if withheld || app.Operation == nil || relay.Withdraws(app.Status.OperationState, last) {
		return ""
	}
	return relay.ID(app.Operation.Raw)
}

// there is what the cluster tells of operations.
func there(seen *feedback.Observation) relay.Cluster {
	c := relay.Cluster{Version: seen.Version, Taken: seen.Taken, Pending: seen.Pending}
	if s := seen.Status.OperationState; s != nil {
		c.Busy, c.StartedAt = s.Phase == "Running" || s.Phase == "Terminating", s.StartedAt
	}
	return c
}

// relayOperation goes on from what out remembers.
func (r *Reconciler) relayOperation(
	ctx context.Context, app *argocd.Application, seen *feedback.Observation, there relay.Cluster, out *relayed,
) error {
	last := out.requests.Last
	if s := app.Status.OperationState; s != nil && relay.Terminate(s, last, there) {
		out.send(relay.Sent{ID: relay.TerminationID(s.StartedAt), Version: there.Version}, nil)
		return nil
	}
	var operation json.RawMessage
	if app.Operation != nil {
		operation = app.Operation.Raw
	}
	if len(operation) > 0 && !there.Busy && relay.Withdraws(app.Status.OperationState, last) {
		out.done = true
		return r.patch(ctx, app, operationPatch(app, nil))
	}
	if stopping(app) && app.Status.OperationState.StartedAt == there.StartedAt && relay.Stopped(last, there) {
		return nil // the status controller is about to tell of its end, and its write wakes this one
	}
	if out.withheld {
		operation = nil
	}
	switch relay.Operation(operation, last, there) {
	case relay.Stamp:
		out.done = true
		return r.stamp(ctx, app)
	case relay.Send:
		out.send(relay.Sent{ID: relay.ID(operation), Version: there.Version, Digest: relay.Digest(operation)}, operation)
	case relay.Clear:
		if shows(app, seen) { // otherwise the status controller is about to, and its write wakes this one
			out.done = true
			return r.patch(ctx, app, operationPatch(app, nil))
		}
	case relay.Drop:
		out.done = true
		return r.dropOperation(ctx, app)
	case relay.None:
		out.forget(app, there)
	}
	return nil
}

// dropOperation takes an operation off the hub that asks for nothing, and says so.
func (r *Reconciler) dropOperation(ctx context.Context, app *argocd.Application) error {
	if err := r.patch(ctx, app, operationPatch(app, nil)); err != nil {
		return err
	}
	r.Events.Eventf(app, nil, corev1.EventTypeWarning, apis.ReasonOperationInvalid, "Propagate",
		"the requested operation asked for nothing, as it had no sync, and was taken off: request it again if a sync is still wanted")
	return nil
}

// send lets the work carry a request.
func (out *relayed) send(s relay.Sent, operation json.RawMessage) {
	s.State = relay.OnItsWay
	out.requests.Last = s
	out.carry = &work.Request{Operation: operation, Version: s.Version}
}

// forget drops what the work remembers of a request that is over: it is not asked for, and does not run.
func (out *relayed) forget(app *argocd.Application, there relay.Cluster) {
	last := out.requests.Last
	runs := there.Busy && (last.ID == there.Taken || last.ID == relay.TerminationID(there.StartedAt))
	asked := app.Operation != nil && last.ID == relay.ID(app.Operation.Raw) ||
		stopping(app) && last.ID == relay.TerminationID(app.Status.OperationState.StartedAt)
	if !runs && !asked {
		out.requests.Last = relay.Sent{}
	}
}

// shows tells whether the hub Application's status shows the operation that its cluster has taken. Until then the
// request stays: whoever sees neither, as RollingSync does, would ask again. Both times are the cluster's. An Application
// that knows of no operation has taken the place of the one that took the request, and will never show it.
func shows(app *argocd.Application, seen *feedback.Observation) bool {
	here, there := app.Status.OperationState, seen.Status.OperationState
	if there == nil {
		return seen.Taken == ""
	}
	return here != nil && here.StartedAt >= there.StartedAt
}

// stamp gives the hub's operation an identity. The change of the Application wakes the reconcile that sends it.
func (r *Reconciler) stamp(ctx context.Context, app *argocd.Application) error {
	operation, err := relay.WithID(app.Operation.Raw, relay.NewID(time.Now(), string(uuid.NewUUID())))
	if err != nil {
		return operationProblem(err)
	}
	return r.patch(ctx, app, operationPatch(app, operation))
}

// operationPatch replaces the operation of the version of the Application that was read, or removes it for nil.
func operationPatch(app *argocd.Application, operation json.RawMessage) any {
	return map[string]any{
		"metadata":  map[string]any{"resourceVersion": app.ResourceVersion},
		"operation": operation,
	}
}

func (r *Reconciler) relayRefresh(
	ctx context.Context, app *argocd.Application, sent relay.Refresh, seen *feedback.Observation, out *relayed,
) error {
	answered := refreshed(sent, seen)
	// Until the hub shows when the cluster has compared, which the status controller is about to write: then the work
	// does not ask for it any more.
	shown := app.Status.ReconciledAt == seen.Status.ReconciledAt
	next, outcome, after := sent.Next(app.Refresh(), string(uuid.NewUUID()), answered && shown, time.Now())
	if outcome == relay.TimedOut && answered {
		outcome = relay.Done
	}
	switch outcome {
	case relay.Done, relay.TimedOut:
		out.done = true // the end of the hub's annotation wakes the reconcile that takes it out of the work
		return r.endRefresh(ctx, app, outcome)
	case relay.Waiting:
	}
	out.requests.Refresh, out.after = next, after
	return nil
}

// refreshed tells whether the cluster's Argo CD has answered a refresh: the Application there was read with its identity, and
// without the refresh itself. Both are applied in one write, and Argo CD (2 and 3) takes the refresh off in the one that tells
// of the comparison.
func refreshed(sent relay.Refresh, seen *feedback.Observation) bool {
	return seen.Complete && seen.RefreshRequest == sent.ID && !seen.RefreshPending
}

// endRefresh takes the hub's annotation off, and says so where the cluster has not answered.
func (r *Reconciler) endRefresh(ctx context.Context, app *argocd.Application, outcome relay.Outcome) error {
	warning := ""
	if outcome == relay.TimedOut {
		warning = fmt.Sprintf("cluster %s has not refreshed within %s of the request: is it available? The request was dropped",
			app.Cluster(), relay.RefreshDeadline)
	}
	return r.dropRefresh(ctx, app, warning)
}

// dropRefresh takes the hub's annotation off, and shows the warning unless it is empty.
func (r *Reconciler) dropRefresh(ctx context.Context, app *argocd.Application, warning string) error {
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": app.ResourceVersion,
		"annotations":     map[string]any{apis.AnnotationRefresh: nil},
	}}
	conditions := slices.DeleteFunc(slices.Clone(app.Status.Conditions), func(c argocd.Condition) bool {
		return c.Type == apis.ConditionRefreshWarning
	})
	had := len(conditions) < len(app.Status.Conditions)
	if warning != "" {
		conditions = append(conditions, argocd.Condition{
			Type: apis.ConditionRefreshWarning, LastTransitionTime: ptr.To(metav1.Now()), Message: warning,
		})
	}
	if had || warning != "" {
		patch["status"] = map[string]any{"conditions": conditions}
	}
	return client.IgnoreNotFound(r.patch(ctx, app, patch))
}

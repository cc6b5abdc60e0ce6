package propagation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
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
	// requests are what the payload is to carry.
	requests work.Requests

	// hold asks to leave the work's payload as it is.
	hold bool

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration
}

// relayRequests brings the operation and the refresh that the hub Application asks for on their way, and takes off
// the Application what has been dealt with. existing is its work; nil when there is none yet.
func (r *Reconciler) relayRequests(ctx context.Context, app *argocd.Application, existing *workv1.ManifestWork) (relayed, error) {
	var sent work.Requests
	var seen feedback.Observation
	if existing != nil {
		sent = work.Sent(existing)
		seen = feedback.Parse(&existing.Status, work.Identifier(app))
	}
	out, err := r.relayOperation(ctx, app, sent, &seen, existing != nil && applied(existing))
	if err != nil || out.hold {
		return out, err
	}
	return out, r.relayRefresh(ctx, app, sent.Refresh, &seen, &out)
}

func (r *Reconciler) relayOperation(
	ctx context.Context, app *argocd.Application, sent work.Requests, seen *feedback.Observation, applied bool,
) (relayed, error) {
	o := relay.Operation{Sent: sent.Operation, Taken: seen.Taken, Pending: seen.Pending, Applied: applied}
	if app.Operation != nil {
		o.Wanted = app.Operation.Raw
	}
	if s := seen.Status.OperationState; s != nil {
		o.Busy, o.FinishedAt = s.Phase == "Running" || s.Phase == "Terminating", s.FinishedAt
	}
	switch o.Next(time.Now()) {
	case relay.Stamp:
		return relayed{hold: true}, r.stamp(ctx, app)
	case relay.Send:
		return relayed{requests: work.Requests{Operation: app.Operation.Raw}}, nil
	case relay.Hold:
		return relayed{hold: true, after: relay.RefreshDeadline}, nil
	case relay.Clear:
		if !shows(app, seen) {
			return relayed{hold: true}, nil // the status controller is about to, and its write wakes this one
		}
		return relayed{hold: true}, r.patch(ctx, app, operationPatch(app, nil))
	case relay.None:
	}
	return relayed{}, nil
}

// shows tells whether the hub Application's status shows the operation that its cluster has taken. Until then the
// request stays: whoever sees neither, as RollingSync does, would ask again.
func shows(app *argocd.Application, seen *feedback.Observation) bool {
	here, there := app.Status.OperationState, seen.Status.OperationState
	return here != nil && there != nil && here.StartedAt >= there.StartedAt
}

// stamp gives the hub's operation an identity. The change of the Application wakes the reconcile that sends it.
func (r *Reconciler) stamp(ctx context.Context, app *argocd.Application) error {
	operation, err := relay.WithID(app.Operation.Raw, relay.NewID(time.Now(), string(uuid.NewUUID())))
	if err != nil {
		return problemf(apis.ReasonOperationInvalid, "the requested operation cannot be read: %s: request it again", err)
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
	now := time.Now()
	kind := app.Annotations[apis.AnnotationRefresh]
	next, outcome := sent.Next(kind, seen.Status.ReconciledAt, now)
	switch outcome {
	case relay.Done, relay.TimedOut:
		out.hold = true // the end of the hub's annotation wakes the reconcile that takes it out of the work
		return r.endRefresh(ctx, app, outcome)
	case relay.Waiting:
	}
	out.requests.Refresh = next
	if kind != "" {
		out.after = next.Left(now)
	}
	return nil
}

// endRefresh takes the hub's annotation off, and says so where the cluster has not answered.
func (r *Reconciler) endRefresh(ctx context.Context, app *argocd.Application, outcome relay.Outcome) error {
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": app.ResourceVersion,
		"annotations":     map[string]any{apis.AnnotationRefresh: nil},
	}}
	conditions := slices.DeleteFunc(slices.Clone(app.Status.Conditions), func(c argocd.Condition) bool {
		return c.Type == apis.ConditionRefreshWarning
	})
	had := len(conditions) < len(app.Status.Conditions)
	if outcome == relay.TimedOut {
		now := metav1.Now()
		conditions = append(conditions, argocd.Condition{
			Type: apis.ConditionRefreshWarning, LastTransitionTime: &now,
			Message: fmt.Sprintf("cluster %s has not refreshed within %s of the request: is it available? The request was dropped",
				app.Cluster(), relay.RefreshDeadline),
		})
	}
	if had || outcome == relay.TimedOut {
		patch["status"] = map[string]any{"conditions": conditions}
	}
	return client.IgnoreNotFound(r.patch(ctx, app, patch))
}

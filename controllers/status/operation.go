package status

import (
	"encoding/json"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// showOperation completes the last operation with the hub's knowledge: the request, and the revision of the sync.
func showOperation(app *argocd.Application, w *workv1.ManifestWork, o *argocd.OperationState) *argocd.OperationState {
	if o == nil {
		return nil
	}
	seen := feedback.Parse(&w.Status, work.Identifier(app))
	if supersedes(app, work.Sent(w).Last, &seen, o) {
		return nil
	}
	out := *o
	asked := askedFor(app, &seen, o)
	if asked != nil {
		out.Operation = *asked
	}
	if !o.Running() || asked == nil && ownResult(app, o) {
		out.Operation.Sync = out.Operation.Sync.At(o.SyncResult)
	}
	return &out
}

// ownResult returns whether the result in a running operation is certainly not the result of the former operation. Argo CD 2.14,
// and 3 before argo-cd#28778, begins an operation with the result of the former operation, and replaces the result during the
// sync.
func ownResult(app *argocd.Application, o *argocd.OperationState) bool {
	shown := app.Status.OperationState
	if shown == nil || o.SyncResult == nil {
		return false
	}
	if shown.Running() && shown.StartedAt == o.StartedAt && shown.Operation.Sync.Resolved() {
		return true
	}
	return shown.SyncResult == nil || shown.SyncResult.Revision != o.SyncResult.Revision ||
		!slices.Equal(shown.SyncResult.Revisions, o.SyncResult.Revisions)
}

// supersedes reports whether a user on the hub has removed the last operation from the status and requests a new
// operation. It returns false once the cluster has begun the new operation. Argo CD's API server and Kargo remove and
// request in one write. If the hub showed the last operation again, a client waiting for the new operation would see
// the wrong end, or repeat the request.
func supersedes(app *argocd.Application, sent relay.Sent, seen *feedback.Observation, o *argocd.OperationState) bool {
	if app.Operation == nil || app.Status.OperationState != nil || o.Running() {
		return false
	}
	id := relay.ID(app.Operation.Raw)
	begun := id != "" && seen.Taken == id
	over := id != "" && sent.ID == id && sent.State == relay.Delivered && seen.Pending != id && seen.Version != "" && seen.Version != sent.Version
	return !begun && !over
}

// askedFor returns the operation as requested on the hub; nil without a request or without the requested form. The
// hub's operation field has the request at first, and later the hub's own status.
func askedFor(app *argocd.Application, seen *feedback.Observation, o *argocd.OperationState) *argocd.Operation {
	id := identityOf(o.Operation.Info)
	if there := seen.Status.OperationState; id == "" && there != nil && there.StartedAt == o.StartedAt {
		id = seen.Taken
	}
	shown := app.Status.OperationState
	switch {
	case id == "":
		return nil
	case app.Operation != nil && relay.ID(app.Operation.Raw) == id:
		asked := &argocd.Operation{}
		if json.Unmarshal(app.Operation.Raw, asked) == nil {
			return asked
		}
	case shown != nil && shown.StartedAt == o.StartedAt && identityOf(shown.Operation.Info) == id:
		return &shown.Operation
	}
	return nil
}

// identityOf returns the identity that the hub gave an operation; empty for none.
func identityOf(notes []argocd.Info) string {
	i := slices.IndexFunc(notes, func(n argocd.Info) bool { return n.Name == apis.OperationInfo })
	if i < 0 {
		return ""
	}
	return notes[i].Value
}

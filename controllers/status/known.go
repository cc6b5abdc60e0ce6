package status

import (
	"cmp"
	"reflect"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// withKnown completes a partial observation with known values of the same state: a message, a revision or an end that
// could not be read this time. Values of a different state, for example the end of an earlier operation, are not used.
func withKnown(seen, known *argocd.Status) *argocd.Status {
	out := *seen
	if h := known.Health; out.Health.Status == h.Status {
		out.Health.Message = cmp.Or(out.Health.Message, h.Message)
		out.Health.LastTransitionTime = cmp.Or(out.Health.LastTransitionTime, h.LastTransitionTime)
	}
	if k := known.Sync; k != nil && out.Sync != nil && out.Sync.Status == k.Status && out.Sync.Revision == "" && len(out.Sync.Revisions) == 0 {
		out.Sync = k
	}
	if k := known.OperationState; k != nil && out.OperationState != nil {
		out.OperationState = operationWithKnown(*out.OperationState, k)
	}
	return &out
}

func operationWithKnown(o argocd.OperationState, known *argocd.OperationState) *argocd.OperationState {
	if o.StartedAt != known.StartedAt || o.Phase != known.Phase {
		return &o
	}
	o.Message = cmp.Or(o.Message, known.Message)
	o.FinishedAt = cmp.Or(o.FinishedAt, known.FinishedAt)
	o.RetryCount = cmp.Or(o.RetryCount, known.RetryCount)
	o.SyncResult = cmp.Or(o.SyncResult, known.SyncResult)
	o.Operation.InitiatedBy = cmp.Or(o.Operation.InitiatedBy, known.Operation.InitiatedBy)
	if reflect.ValueOf(o.Operation.Sync).IsZero() {
		o.Operation.Sync = known.Operation.Sync
	}
	return &o
}

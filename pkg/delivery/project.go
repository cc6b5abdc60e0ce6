package delivery

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// SameApplication reports whether two versions of an Application are equal for decisions. An Application's status has
// no separate generation, and only a few fields count. A new text of a condition alone does not count, because
// messages of an API server may differ each time.
func SameApplication(a, b *argocd.Application) bool {
	return SameRequest(a, b) && shownOf(a, b) == shownOf(b, b)
}

// SameRequest compares the parts written by users.
func SameRequest(a, b *argocd.Application) bool {
	return a.UID == b.UID &&
		maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) &&
		slices.Equal(a.Finalizers, b.Finalizers) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		bytes.Equal(a.Spec.Raw, b.Spec.Raw) &&
		equality.Semantic.DeepEqual(a.Operation, b.Operation) &&
		maps.EqualFunc(a.Unknown, b.Unknown, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// shown are the relevant fields of an Application's status.
type shown struct {
	// own is true if the Application shows a condition of propagation. Towline restores a condition removed by
	// others.
	own bool

	// startedAt is the start of the operation in the status. A request is over when its operation is visible, and
	// only a visible operation can be stopped. The field counts during a requested operation, and while the
	// Application leaves a cluster.
	startedAt string

	// stopping is true if the status shows an operation to be stopped.
	stopping bool

	// reconciledAt is the time of the cluster's last comparison in the status. The field changes while a user waits
	// for the comparison, and with each operation. unsettled is true if the status shows no comparison after an
	// operation.
	reconciledAt string
	unsettled    bool

	// health counts while an earlier target waits for a healthy Application.
	health string
}

// shownOf returns the relevant status of app. The state of as decides about the relevance.
func shownOf(app, as *argocd.Application) shown {
	out := shown{
		own:          shows(app),
		stopping:     app.Status.OperationState.Terminating(),
		unsettled:    unsettled(app),
		reconciledAt: app.Status.ReconciledAt,
	}
	if o := app.Status.OperationState; o != nil && (as.Operation != nil || has(as, moving) || !as.DeletionTimestamp.IsZero()) {
		out.startedAt = o.StartedAt
	}
	if has(as, moving) {
		out.health = app.Status.Health.Status
	}
	return out
}

package delivery

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
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
		stopping:     stopping(app),
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

// SameWork reports whether two versions of a work are equal for decisions. The rest of the agent's report belongs to
// the status controller.
func SameWork(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && workStateOf(a) == workStateOf(b)
}

// workState is the agent's report on a work, as far as decisions depend on the report.
type workState struct {
	// The apply of the work, and the Application of another owner on the cluster.
	outcome, found                metav1.ConditionStatus
	absent, foundReleased, edited bool
	refused                       string

	// sideManifestsKept changes with the report about a single manifest, even if the agent could not apply another
	// manifest.
	sideManifestsKept bool

	// operation and phase are the running or last operation. The version counts while the report has the volatile
	// fields.
	operation relay.Cluster
	phase     string

	// compared is true if the agent reports comparisons by a condition. edit is the mark of an edit on the cluster.
	compared, detailed bool
	edit               string

	// complete is true if the report is complete. An operation missing from a complete report was removed on the
	// cluster, and a refresh is answered only by a complete report. In all other cases, complete is false.
	complete bool

	// volatile are the fields that change with every comparison, while a user waits for a comparison.
	volatile struct {
		reconciledAt, refresh    string
		refreshPending, starting bool
	}

	// leaving is the report about the finalizers and the owner of an Application that leaves its cluster.
	leaving struct {
		finalizers, owner             string
		known, read, cascades, unread bool
	}
}

// workStateOf returns the state of a work. The report is parsed once.
func workStateOf(w *workv1.ManifestWork) workState {
	s := workState{
		outcome: work.Outcome(w), found: work.Found(w), absent: work.Absent(w), foundReleased: work.FoundReleased(w),
		edited: work.RefusedForEdit(w), refused: work.RefusedBy(w), sideManifestsKept: work.SideManifestsKept(w),
	}
	if work.ReportsFinalizers(w) {
		l := &s.leaving
		var finalizers []string
		finalizers, l.known = work.RemainingFinalizers(w)
		l.finalizers = strings.Join(finalizers, ",")
		l.owner, l.read = work.Owner(w)
		l.cascades, l.unread = work.Cascades(w), work.Unread(w, true)
	}
	if len(w.Spec.ManifestConfigs) == 0 {
		return s
	}
	seen := feedback.Parse(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier)
	s.operation, s.edit, s.detailed = operations(&seen), seen.Edit, seen.Detailed
	s.compared = work.AsksCompared(w) && answersByCondition(w, &seen)
	if o := seen.Status.OperationState; o != nil {
		s.phase = o.Phase
	}
	s.complete = seen.Complete && (s.operation.Busy || w.Annotations[apis.AnnotationRefreshSent] != "")
	if !work.TellsVolatile(w) {
		s.operation.Version = ""
		return s
	}
	v := &s.volatile
	v.reconciledAt, v.refresh, v.refreshPending, v.starting = seen.Status.ReconciledAt, seen.RefreshRequest, seen.RefreshPending, seen.Starting
	return s
}

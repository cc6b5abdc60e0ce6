package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
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
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && reportedBy(a) == reportedBy(b)
}

// reported are the relevant fields of a work's status.
type reported struct {
	outcome        metav1.ConditionStatus
	absent         bool
	found          metav1.ConditionStatus
	refused        string
	progress, left string
	foundReleased  bool
	edited         bool

	// bare changes with the report about a single manifest, even if the agent could not apply another manifest.
	bare bool
}

func reportedBy(w *workv1.ManifestWork) reported {
	return reported{
		outcome: work.Outcome(w), absent: work.Absent(w), found: work.Found(w), refused: work.RefusedBy(w),
		progress: progress(w), left: left(w),
		foundReleased: work.FoundReleased(w), edited: work.RefusedForEdit(w), bare: work.SideManifestsKept(w),
	}
}

// progress returns a work's report about requests: the running or last operation, and the agent's condition about
// comparisons. While a user waits, the fields that change with every comparison are added. The completeness of the
// report counts in two cases. An operation missing from a complete report was removed on the cluster. A refresh is
// answered only by a complete report.
func progress(w *workv1.ManifestWork) string {
	names := []string{"operationStatePhase", "operationStateStartedAt", "operationTaken", "operationPending"}
	if work.TellsVolatile(w) {
		names = append(names, feedback.VolatileNames...)
	}
	text := feedback.Text(&w.Status, names...)
	if len(w.Spec.ManifestConfigs) == 0 {
		return text
	}
	seen := feedback.Parse(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier)
	text += fmt.Sprintln(work.AsksCompared(w) && answersByCondition(w, &seen), seen.Edit, seen.Detailed)
	if strings.Contains(text, "operationStatePhase=Running\n") || strings.Contains(text, "operationStatePhase=Terminating\n") ||
		w.Annotations[apis.AnnotationRefreshSent] != "" {
		text += fmt.Sprint(seen.Complete)
	}
	return text
}

// left returns a leaving work's report about the finalizers and the owner of its Application.
func left(w *workv1.ManifestWork) string {
	if !work.ReportsFinalizers(w) {
		return ""
	}
	finalizers, known := work.RemainingFinalizers(w)
	owner, read := work.Owner(w)
	return fmt.Sprint(finalizers, known, owner, read, work.Cascades(w), work.Unread(w, true))
}

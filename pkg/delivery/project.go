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

// SameApplication tells whether decisions see the same in two versions of an Application. Of its status, which has no generation
// of its own to be told apart by, little counts; the text of its conditions alone wakes nobody: an API server's words may differ
// each time.
func SameApplication(a, b *argocd.Application) bool {
	return SameRequest(a, b) && shownOf(a, b) == shownOf(b, b)
}

// SameRequest compares what people ask for.
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

// shown is what counts of an Application's status.
type shown struct {
	// own is set when it shows a condition of propagation's: if someone else drops it, it is put back.
	own bool

	// startedAt is when the operation began that it shows: a request is over once it is shown, and only what is shown can be
	// stopped. It counts while an operation is asked for, or the Application goes from a cluster.
	startedAt string

	// stopping is set when it shows an operation that is to be stopped.
	stopping bool

	// reconciledAt is when the cluster has compared, as far as it shows: it changes while somebody waits for it, and with each operation.
	// unsettled is set while it shows no comparison after an operation.
	reconciledAt string
	unsettled    bool

	// health counts while an earlier target waits for it.
	health string
}

// shownOf is what counts of a version's status while the Application is as in another.
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

// SameWork tells whether decisions see the same in two versions of a work. What the agent reports beside that is the status
// controller's.
func SameWork(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && reportedBy(a) == reportedBy(b)
}

// reported is what counts of a work's status.
type reported struct {
	outcome        metav1.ConditionStatus
	absent         bool
	found          metav1.ConditionStatus
	refused        string
	progress, left string
	foundReleased  bool
	edited         bool

	// bare changes with what the agent says of one manifest alone, where it was refused another.
	bare bool
}

func reportedBy(w *workv1.ManifestWork) reported {
	return reported{
		outcome: work.Outcome(w), absent: work.Absent(w), found: found(w), refused: refusedBy(w),
		progress: progress(w), left: left(w),
		foundReleased: work.FoundReleased(w), edited: work.RefusedForEdit(w), bare: work.Bare(w),
	}
}

// progress is what a work reports of requests: the operation that runs or ended last, whether the agent tells of comparisons by a condition
// and, while somebody waits for it, what changes with every one. An operation that is said to run counts as taken off there once the
// report is complete, and a refresh as answered.
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
	text += fmt.Sprintln(work.AsksCompared(w) && answersByCondition(w, &seen), seen.Edit)
	if strings.Contains(text, "operationStatePhase=Running\n") || strings.Contains(text, "operationStatePhase=Terminating\n") ||
		w.Annotations[apis.AnnotationRefreshSent] != "" {
		text += fmt.Sprint(seen.Complete)
	}
	return text
}

// left is what a work that is to go reports of the finalizers and the owner of its Application.
func left(w *workv1.ManifestWork) string {
	if !work.TellsLeft(w) {
		return ""
	}
	finalizers, known := work.Left(w)
	owner, read := work.Owner(w)
	return fmt.Sprint(finalizers, known, owner, read, work.Cascades(w), work.Unread(w, true))
}

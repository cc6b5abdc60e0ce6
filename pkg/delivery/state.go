package delivery

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// SameWork reports whether two versions of a work are equal for decisions. The rest of the agent's report belongs to
// the status controller.
func SameWork(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && workStateOf(a) == workStateOf(b)
}

// workState is the agent's report on a work, as far as decisions depend on the report.
type workState struct {
	workStatus

	// absent is true if the agent has found no Application.
	absent bool

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
	status := statusOf(w)
	s := workState{workStatus: status, absent: work.Absent(w)}
	s.reported = status.reported && work.AsksOrigin(w) // otherwise only the field compared depends on the report
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
	s.operation, s.edit, s.detailed = relay.ClusterOf(&seen), seen.Edit, seen.Detailed
	s.compared = work.AsksCompared(w) && answersByCondition(w, status, &seen)
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

// workStatus is the agent's answer about the current generation of a work. Only this file reads the answer: each part of
// a status that a decision reads is compared by SameWork.
type workStatus struct {
	// outcome is the result of the apply, and found whether the agent has found the Application; see package work.
	outcome, found metav1.ConditionStatus

	// applied is true if the agent has applied the work. A read-only work is never applied.
	applied bool

	// reported is true if the agent has answered the feedback rules.
	reported bool

	// outdated is true if the cluster's Application has another version than the request in the work expects.
	outdated bool

	// The Application of another owner on the cluster, by the functions of package work with these names.
	foundReleased, refusedForEdit, refusedForMark bool
	refused, conflicts                            string

	// sideManifestsKept changes with the report about a single manifest, even if the agent could not apply another
	// manifest.
	sideManifestsKept bool
}

// statusOf returns the status of a work.
func statusOf(w *workv1.ManifestWork) workStatus {
	outcome := work.Outcome(w)
	return workStatus{
		outcome: outcome, found: work.Found(w), applied: outcome == metav1.ConditionTrue && !work.IsReadOnly(w),
		reported: work.Reported(w), outdated: work.Outdated(w), refused: work.RefusedBy(w), conflicts: work.Refused(w),
		foundReleased: work.FoundReleased(w), refusedForEdit: work.RefusedForEdit(w), refusedForMark: work.RefusedForMark(w),
		sideManifestsKept: work.SideManifestsKept(w),
	}
}

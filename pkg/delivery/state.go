package delivery

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// SameWork reports whether two versions of a work are equal for decisions. The rest of the agent's report belongs to
// the status controller.
func SameWork(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && workStateOf(work.ReportOf(a)) == workStateOf(work.ReportOf(b))
}

// workState has all parts of the agent's report on a work that a decision reads, and no parts that change more often
// than decisions. A test compares the parts with the methods of work.Report.
type workState struct {
	outcome, found                  metav1.ConditionStatus
	applied, told, reported, absent bool

	// outdated is true if the cluster's Application has another version than the request in the work expects.
	outdated bool

	// The Application of another owner on the cluster, by the methods of work.Report with these names.
	foundReleased, refusedForEdit, refusedForMark bool
	refused, conflicts                            string

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
		finalizers, owner                                                       string
		known, read, cascades, uncascaded, unread, unmapped, dropped, destroyed bool
	}
}

// workStateOf returns the state from the report on a work. The health and the sync status are left out: the status
// controller writes both to the hub's Application, and the write wakes the controller.
func workStateOf(r *work.Report) workState {
	w := r.Work
	s := workState{
		outcome: r.Outcome(), found: r.Found(), applied: r.Applied(), told: r.Told(), absent: r.Absent(), outdated: r.Outdated(),
		reported:      r.Reported() && work.AsksOrigin(w), // otherwise only the field compared depends on the report
		foundReleased: r.FoundReleased(), refusedForEdit: r.RefusedForEdit(), refusedForMark: r.RefusedForMark(),
		refused: r.RefusedBy(), conflicts: r.Conflicts(), sideManifestsKept: r.SideManifestsKept(),
	}
	if work.ReportsFinalizers(w) {
		l := &s.leaving
		var finalizers []string
		finalizers, l.known = r.RemainingFinalizers()
		l.finalizers = strings.Join(finalizers, ",")
		l.owner, l.read = r.Owner()
		l.cascades, l.uncascaded, l.unread, l.unmapped = r.Cascades(), r.Uncascaded(), r.Unread(true), r.Unread(false)
		l.dropped, l.destroyed = r.FinalizersDropped(false), r.FinalizersDropped(true)
	}
	seen := r.Observation()
	s.operation, s.edit, s.detailed = relay.ClusterOf(seen), seen.Edit, seen.Detailed
	s.compared = work.AsksCompared(w) && answersByCondition(r, seen)
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

package work

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// hubHash is the number of characters before "-<name of the work>" in the name of an AppliedManifestWork (v1.2.0).
const hubHash = 64

// Seen reports whether the agent (v1.2.0) has seen a work. The agent adds its finalizer to the work before the first
// apply.
func Seen(w *workv1.ManifestWork) bool {
	return slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer)
}

// Recreated reports whether a cluster had reported on the Application before the work was created. The agent may still
// hold the objects of an earlier work of the same name. Without a work, the agent removes the objects after an hour.
func Recreated(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationRecreated] != "" }

// FinalizersDropped reports whether the deletion of a work now has the effect requested by the finalizers of the
// hub's Application. destroys is true if one of the finalizers removes the workload. Call FinalizersDropped only for
// a work without changes from PrepareRemoval.
//
// The deletion needs a proof: the cluster's Application has exactly the requested finalizers, is absent, or does not
// belong to the work. An error of the agent is no proof. The agent may have applied the manifest before the error, and
// an unreadable Application may exist. If the workload is to go, two works are not awaited: a first work without any
// delivery, and a work with the mode CreateOnly. An unreadable Application is not awaited forever: its workload is
// removed if the Application had a finalizer before.
func (r *Report) FinalizersDropped(destroys bool) bool {
	switch w := r.Work; {
	case CarriesRequest(w):
		return false
	case destroys && (isFirst(w) && !r.brought() || r.mode == CreateOnly):
		return true
	case r.outcome == "":
		return false
	case r.brought() && destroys:
		return r.Cascades()
	case r.brought():
		remaining, known := r.RemainingFinalizers()
		return known && len(remaining) == 0
	}
	kept := r.mode == ReadOnly || r.Conflicts() != "" // because of the mode or of conflicts, and not because of a temporary failure
	owner, known := r.Owner()
	return r.Absent() || kept && known && owner == "" || destroys && r.Cascades() || AskedAgain(r.Work) && r.Unread(destroys)
}

// brought reports whether the agent has applied the Application for the current generation of the work.
func (r *Report) brought() bool { return r.outcome == metav1.ConditionTrue && r.mode != ReadOnly }

// Uncascaded reports whether a user on the cluster has removed the finalizer for the removal of the workload. The
// agent has applied the finalizer, and has since read the Application without a finalizer.
func (r *Report) Uncascaded() bool {
	remaining, known := r.finalizersNow()
	return ReportsFinalizers(r.Work) && r.brought() && known && len(remaining) == 0
}

// Absent reports whether the agent has looked for the Application at the place of the current generation and found
// none. The agent looks after a failed apply, or in the mode ReadOnly. An unreadable Application is not absent,
// because the API server of the cluster may have failed.
func (r *Report) Absent() bool {
	tried := r.outcome == metav1.ConditionFalse || r.outcome != "" && r.mode == ReadOnly
	return tried && r.foundNow(metav1.ConditionFalse)
}

// OwnedBy reports whether a work of the hub owns the cluster's Application, as read for the current generation of a work
// with ReportsFinalizers. With another owner, the Application stays after the deletion of the reported work.
func (r *Report) OwnedBy(w *workv1.ManifestWork) bool {
	name, known := r.Owner()
	return known && w.Namespace == r.Work.Namespace && isOf(name, w)
}

// Owner returns the name of the AppliedManifestWork that owns the cluster's Application; empty for no owner. known
// reports whether the agent of a work with ReportsFinalizers has read the owner for the current generation.
func (r *Report) Owner() (name string, known bool) {
	if !ReportsFinalizers(r.Work) || !r.foundNow(metav1.ConditionTrue) {
		return "", false
	}
	return feedback.Owner(&r.Work.Status, r.id)
}

// isOf reports whether an AppliedManifestWork belongs to a work, by the two names.
func isOf(applied string, w *workv1.ManifestWork) bool {
	return len(applied) == hubHash+1+len(w.Name) && strings.HasSuffix(applied, "-"+w.Name)
}

// Cascades reports whether the cluster's Application has a finalizer for the removal of the workload, as read by the
// agent. If the work has delivered the Application again, with the finalizer, only a later reading counts.
func (r *Report) Cascades() bool {
	switch {
	case !r.foundNow(metav1.ConditionTrue):
		return false
	case !ReportsFinalizers(r.Work):
		return feedback.Cascades(&r.Work.Status, r.id)
	}
	remaining, known := r.finalizersNow()
	return len(remaining) > 0 && (known || !r.brought())
}

// Unread reports whether the agent can neither apply the current generation nor tell whether the Application exists.
// A lasting Unread counts as an answer. If the workload is to stay, only a cluster that does not know the kind
// Application counts, because no Application can exist there. The agent (v1.2.0) reports an unknown kind also after a
// failed request to the API server.
func (r *Report) Unread(destroys bool) bool {
	return r.outcome == metav1.ConditionFalse && r.available == metav1.ConditionUnknown &&
		(destroys || feedback.Unmapped(&r.Work.Status, r.id))
}

// isFirst reports whether a work is unchanged since its creation, and the first work of its Application on the
// cluster.
func isFirst(w *workv1.ManifestWork) bool { return w.Generation == 1 && !Recreated(w) }

// again is the prefix of the mark of a repeated question to the agent.
const again = "again-"

// AskAgain returns a copy of a work with ReportsFinalizers and with a new mark, for a new answer from the agent. The rest
// stays the same.
func AskAgain(w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	out := w.DeepCopy()
	held, ok := Carried(w)
	if !ok {
		return out, nil
	}
	return out, setFinalizers(out, held.Finalizers, again+strconv.FormatInt(w.Generation, 10))
}

// AskedAgain reports whether the work has a mark from AskAgain.
func AskedAgain(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && strings.HasPrefix(held.Annotations[apis.AnnotationFinalizersDropped], again)
}

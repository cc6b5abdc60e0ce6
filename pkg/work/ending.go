package work

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// Ownership is the owner of the Application on the cluster, as reported by the agent of a work with ReportsFinalizers.
type Ownership int

const (
	// OwnerUnknown means: the agent has not read the owner for the current generation of the work, or the owner is
	// not this work.
	OwnerUnknown Ownership = iota

	// OwnerNone means: no agent has applied the Application. The Application stays as is after the deletion of the
	// work.
	OwnerNone

	// OwnerSelf means: the work has delivered the Application. The deletion of the work removes the Application.
	OwnerSelf
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
func FinalizersDropped(w *workv1.ManifestWork, destroys bool) bool {
	switch outcome := Outcome(w); {
	case CarriesRequest(w):
		return false
	case destroys && (isFirst(w) && !brought(w) || UpdateModeOf(w) == CreateOnly):
		return true
	case outcome == "":
		return false
	case brought(w) && destroys:
		return Cascades(w)
	case brought(w):
		remaining, known := RemainingFinalizers(w)
		return known && len(remaining) == 0
	}
	kept := UpdateModeOf(w) == ReadOnly || Refused(w) != "" // because of the mode or of conflicts, and not because of a temporary failure
	return Absent(w) || kept && OwnerOf(w) == OwnerNone || destroys && Cascades(w) || AskedAgain(w) && Unread(w, destroys)
}

// brought reports whether the agent has applied the Application for the current generation of the work.
func brought(w *workv1.ManifestWork) bool {
	return Outcome(w) == metav1.ConditionTrue && UpdateModeOf(w) != ReadOnly
}

// Uncascaded reports whether a user on the cluster has removed the finalizer for the removal of the workload. The
// agent has applied the finalizer, and has since read the Application without a finalizer.
func Uncascaded(w *workv1.ManifestWork) bool {
	remaining, known := feedback.RemainingFinalizers(&w.Status, Resource(w), mark(w))
	return ReportsFinalizers(w) && brought(w) && known && len(remaining) == 0
}

// Absent reports whether the agent has looked for the Application at the place of the current generation and found
// none. The agent looks after a failed apply, or in the mode ReadOnly. An unreadable Application is not absent,
// because the API server of the cluster may have failed.
func Absent(w *workv1.ManifestWork) bool {
	tried := Outcome(w) == metav1.ConditionFalse || Outcome(w) != "" && UpdateModeOf(w) == ReadOnly
	return tried && found(w, metav1.ConditionFalse)
}

// OwnerOf returns the owner of the cluster's Application, as read under the feedback rules of the current generation.
func OwnerOf(w *workv1.ManifestWork) Ownership {
	name, known := Owner(w)
	switch {
	case known && name == "":
		return OwnerNone
	case known && isOf(name, w):
		return OwnerSelf
	}
	return OwnerUnknown
}

// OwnedBy reports whether another work of the hub owns the cluster's Application, as read for the current generation
// of a work with ReportsFinalizers. The Application then stays after the deletion of w.
func OwnedBy(w, other *workv1.ManifestWork) bool {
	name, known := Owner(w)
	return known && other.Namespace == w.Namespace && isOf(name, other)
}

// Owner returns the name of the AppliedManifestWork that owns the cluster's Application; empty for no owner. known
// reports whether the agent of a work with ReportsFinalizers has read the owner for the current generation.
func Owner(w *workv1.ManifestWork) (name string, known bool) {
	if !ReportsFinalizers(w) || !found(w, metav1.ConditionTrue) {
		return "", false
	}
	return feedback.Owner(&w.Status, Resource(w))
}

// isOf reports whether an AppliedManifestWork belongs to a work, by the two names.
func isOf(applied string, w *workv1.ManifestWork) bool {
	return len(applied) == hubHash+1+len(w.Name) && strings.HasSuffix(applied, "-"+w.Name)
}

// Cascades reports whether the cluster's Application has a finalizer for the removal of the workload, as read by the
// agent. If the work has delivered the Application again, with the finalizer, only a later reading counts.
func Cascades(w *workv1.ManifestWork) bool {
	switch {
	case !found(w, metav1.ConditionTrue):
		return false
	case !ReportsFinalizers(w):
		return feedback.Cascades(&w.Status, Resource(w))
	}
	remaining, known := feedback.RemainingFinalizers(&w.Status, Resource(w), mark(w))
	return len(remaining) > 0 && (known || !brought(w))
}

// Unread reports whether the agent can neither apply the current generation nor tell whether the Application exists.
// A lasting Unread counts as an answer. If the workload is to stay, only a cluster that does not know the kind
// Application counts, because no Application can exist there. The agent (v1.2.0) reports an unknown kind also after a
// failed request to the API server.
func Unread(w *workv1.ManifestWork, destroys bool) bool {
	return Outcome(w) == metav1.ConditionFalse && (destroys || feedback.Unmapped(&w.Status, Resource(w))) &&
		conditionNow(w, workv1.WorkAvailable) == metav1.ConditionUnknown
}

// isFirst reports whether a work is unchanged since its creation, and the first work of its Application on the
// cluster.
func isFirst(w *workv1.ManifestWork) bool { return w.Generation == 1 && !Recreated(w) }

// found reports whether the agent has looked for the Application for the current generation, with the given result.
func found(w *workv1.ManifestWork, result metav1.ConditionStatus) bool {
	manifest := feedback.Manifest(&w.Status, Resource(w))
	if conditionNow(w, workv1.WorkAvailable) != result || manifest == nil {
		return false // the manifest's own condition has no generation, and the work's condition may be about an earlier place
	}
	c := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestAvailable)
	return c != nil && c.Status == result
}

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

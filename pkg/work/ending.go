package work

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// Ownership is what the agent of a work that TellsLeft says of the owner of the Application there.
type Ownership int

const (
	// OwnerUnknown means: the agent has not read it for the work as it is, or something else owns the Application.
	OwnerUnknown Ownership = iota

	// OwnerNone means: no agent has applied the Application, so that it stays as it is when the work goes.
	OwnerNone

	// OwnerSelf means: the work has brought the Application, which goes with it.
	OwnerSelf
)

// hubHash is how many characters there are before "-<name of the work>" in the name of an AppliedManifestWork (v1.2.0).
const hubHash = 64

// Seen tells whether the agent (v1.2.0) has taken up a work: it applies nothing before its finalizer is on the work.
func Seen(w *workv1.ManifestWork) bool {
	return slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer)
}

// MadeAnew tells whether a work was made for an Application that a cluster had reported on before: its agent may hold what
// an earlier work of the same name has brought, and removes that an hour after it finds no work.
func MadeAnew(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationMadeAnew] != "" }

// FinalizersDropped tells whether the deletion of a work comes to what its Application's finalizers on the hub ask for, destroys for
// those by which what it deployed goes along. It is asked of a work that Removable has no change for.
//
// The deletion needs proof: that the cluster's Application has just those finalizers, is not there, or is not the work's. An
// error of the agent is none, for what it cannot apply it may have applied before, and what it cannot read may be there.
// Where all is to go, a first work that has brought nothing yet is not waited for. Nor is for ever an Application that cannot
// be read: what it deployed goes with it if it has had a finalizer before.
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
		left, known := Left(w)
		return known && len(left) == 0
	}
	kept := UpdateModeOf(w) == ReadOnly || Refused(w) != "" // others answer for it, not a failure that may be over any moment
	return Absent(w) || kept && OwnerOf(w) == OwnerNone || destroys && Cascades(w) || AskedAgain(w) && Unread(w, destroys)
}

// brought tells whether the agent has applied the Application of a work as it is.
func brought(w *workv1.ManifestWork) bool {
	return Outcome(w) == metav1.ConditionTrue && UpdateModeOf(w) != ReadOnly
}

// Uncascaded tells whether somebody on the cluster has removed the finalizer that a work gave its Application, with which what
// that deployed is to go: the agent has applied the finalizer, and read the Application without one since.
func Uncascaded(w *workv1.ManifestWork) bool {
	id, ok := identifier(w)
	left, known := feedback.Left(&w.Status, id, mark(w))
	return ok && TellsLeft(w) && brought(w) && known && len(left) == 0
}

// Absent tells whether the agent has looked for the Application where the work as it is has it, after it could not or was
// not to apply that, and found none. What it could not read is not absent: the API server of the cluster may fail.
func Absent(w *workv1.ManifestWork) bool {
	tried := Outcome(w) == metav1.ConditionFalse || Outcome(w) != "" && UpdateModeOf(w) == ReadOnly
	return tried && found(w, metav1.ConditionFalse)
}

// OwnerOf is who has applied the Application there, as read under the rules of the work as it is.
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

// OwnedBy tells whether the agent of a work that TellsLeft has read, under the rules of that work as it is, that another work of the hub
// has applied the Application there: it stays when the first one goes.
func OwnedBy(w, other *workv1.ManifestWork) bool {
	name, known := Owner(w)
	return known && other.Namespace == w.Namespace && isOf(name, other)
}

// Owner is the name of the AppliedManifestWork that owns the Application of a work that TellsLeft there, empty for none, and whether the
// agent has read that for the work as it is.
func Owner(w *workv1.ManifestWork) (name string, known bool) {
	id, ok := identifier(w)
	if !ok || !TellsLeft(w) || !found(w, metav1.ConditionTrue) {
		return "", false
	}
	return feedback.Owner(&w.Status, id)
}

// isOf tells whether an AppliedManifestWork has the name of a work's.
func isOf(applied string, w *workv1.ManifestWork) bool {
	return len(applied) == hubHash+1+len(w.Name) && strings.HasSuffix(applied, "-"+w.Name)
}

// Cascades tells whether the Application there has a finalizer that destroys, as the agent has read. A work that has brought
// its Application anew, with the finalizer, is answered by what was read since.
func Cascades(w *workv1.ManifestWork) bool {
	id, ok := identifier(w)
	switch {
	case !ok || !found(w, metav1.ConditionTrue):
		return false
	case !TellsLeft(w):
		return feedback.Cascades(&w.Status, id)
	}
	left, known := feedback.Left(&w.Status, id, mark(w))
	return len(left) > 0 && (known || !brought(w))
}

// Unread tells whether the agent can neither apply the work as it is nor say whether the Application is there, and that may
// be taken for an answer when it lasts. Where something is to stay, that is so only where the cluster does not know what
// an Application is: then there is none. The agent (v1.2.0) says so too where it could not ask.
func Unread(w *workv1.ManifestWork, destroys bool) bool {
	id, ok := identifier(w)
	return ok && Outcome(w) == metav1.ConditionFalse && (destroys || feedback.Unmapped(&w.Status, id)) &&
		says(w, workv1.WorkAvailable) == metav1.ConditionUnknown
}

// isFirst tells whether a work is as it was made, and the first of its Application on its cluster.
func isFirst(w *workv1.ManifestWork) bool { return w.Generation == 1 && !MadeAnew(w) }

// found tells whether the agent has looked for the Application, for the work as it is, with that result.
func found(w *workv1.ManifestWork, result metav1.ConditionStatus) bool {
	id, ok := identifier(w)
	if !ok {
		return false
	}
	manifest := feedback.Manifest(&w.Status, id)
	if says(w, workv1.WorkAvailable) != result || manifest == nil {
		return false // the manifest's own condition has no generation, and the whole work's may be about an earlier place
	}
	c := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestAvailable)
	return c != nil && c.Status == result
}

// identifier is what a work says of which resource its Application is, or what follows from what it carries.
func identifier(w *workv1.ManifestWork) (workv1.ResourceIdentifier, bool) {
	if len(w.Spec.ManifestConfigs) > 0 {
		return w.Spec.ManifestConfigs[0].ResourceIdentifier, true
	}
	held, ok := Carried(w)
	if !ok {
		return workv1.ResourceIdentifier{}, false
	}
	return Identifier(&argocd.Application{ObjectMeta: held.ObjectMeta}), true
}

// again begins the mark of a change that asks the agent once more.
const again = "again-"

// AskAgain is a work that TellsLeft changed so that its agent has to answer anew, and nothing else.
func AskAgain(w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	out := w.DeepCopy()
	held, ok := Carried(w)
	if !ok {
		return out, nil
	}
	return out, setFinalizers(out, held.Finalizers, again+strconv.FormatInt(w.Generation, 10))
}

// AskedAgain tells whether that is what a work says.
func AskedAgain(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && strings.HasPrefix(held.Annotations[apis.AnnotationFinalizersDropped], again)
}

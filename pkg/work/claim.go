package work

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// UpdateMode is what a work does with an Application that its cluster has already.
type UpdateMode int

const (
	// ForceApply is to apply the Application over whatever is there.
	ForceApply UpdateMode = iota
	// Apply is to apply it unless that would change a field that someone else set: the agent (v1.2.0) then says which,
	// changes nothing and does not become an owner.
	Apply
	// ReadOnly is to change nothing, and to tell whether it is there.
	ReadOnly
	// CreateOnly is to make it where there is none. The work of an Application that is released before it was taken.
	CreateOnly
)

// modes are the words for update modes in AnnotationUpdateMode.
var modes = map[UpdateMode]string{ForceApply: "ForceApply", Apply: "Apply", ReadOnly: "ReadOnly", CreateOnly: "CreateOnly"}

// noteMode lets a work remember how it is applied.
func noteMode(w *workv1.ManifestWork, m UpdateMode) {
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, apis.AnnotationUpdateMode, modes[m])
}

// notedMode is what a work remembers, and whether it does.
func notedMode(w *workv1.ManifestWork) (UpdateMode, bool) {
	noted := w.Annotations[apis.AnnotationUpdateMode]
	for m, word := range modes {
		if word == noted {
			return m, true
		}
	}
	return ReadOnly, false
}

// UpdateModeOf is what the work is to do with an Application that is there. One that was Disabled has the mode that it had before.
func UpdateModeOf(w *workv1.ManifestWork) UpdateMode {
	if len(w.Spec.ManifestConfigs) == 0 || w.Spec.ManifestConfigs[0].UpdateStrategy == nil {
		return ForceApply // an older controller's
	}
	switch s := w.Spec.ManifestConfigs[0].UpdateStrategy; s.Type {
	case workv1.UpdateStrategyTypeReadOnly:
		if ByOlder(w) {
			return ForceApply // it was disabled since
		}
		noted, _ := notedMode(w)
		return noted
	case workv1.UpdateStrategyTypeCreateOnly:
		return CreateOnly
	case workv1.UpdateStrategyTypeServerSideApply:
		if s.ServerSideApply == nil || !s.ServerSideApply.Force {
			return Apply
		}
	}
	return ForceApply
}

// SetUpdateMode changes what a work does with an Application that is there; the work is one that Render made.
func SetUpdateMode(w *workv1.ManifestWork, c UpdateMode) {
	noteMode(w, c)
	config := &w.Spec.ManifestConfigs[0]
	switch c {
	case ReadOnly:
		config.UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
		if !AsksOrigin(w) {
			AskOrigin(w)
		}
	case CreateOnly:
		config.UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly}
	default:
		if config.UpdateStrategy.ServerSideApply == nil {
			config.UpdateStrategy = Strategy()
		}
		config.UpdateStrategy.ServerSideApply.Force = c == ForceApply
	}
}

// AskOrigin lets a work ask whose the Application there is; the work is one that Render made.
func AskOrigin(w *workv1.ManifestWork) {
	rules := &w.Spec.ManifestConfigs[0].FeedbackRules
	*rules = append(*rules, originRule)
}

// AsksOrigin tells whether a work asks whose the Application there is.
func AsksOrigin(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && slices.ContainsFunc(w.Spec.ManifestConfigs[0].FeedbackRules, isOriginRule)
}

// RefusedForEdit tells whether the fields that keep a work from applying its Application without force were set on the cluster
// after the work had brought the Application there: the agent has read that it owns the Application.
func RefusedForEdit(w *workv1.ManifestWork) bool {
	if !AsksOrigin(w) || UpdateModeOf(w) != Apply || !found(w, metav1.ConditionTrue) {
		return false
	}
	owner, known := feedback.OriginOwner(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier)
	return known && isOf(owner, w)
}

var originRule = feedback.OriginRule()

func isOriginRule(r workv1.FeedbackRule) bool { return sameRule(r, originRule) }

// FoundReleased tells whether the agent of a work that looks has found the Application there to be what this work, or an earlier one
// of its name, has brought and released: that name follows from the UID of the hub's Application. No other agent owns it.
func FoundReleased(w *workv1.ManifestWork) bool {
	return UpdateModeOf(w) == ReadOnly && found(w, metav1.ConditionTrue) &&
		feedback.Origin(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier) == w.Name
}

// Refused is the API server's word of the fields that keep a work that asks from what its cluster has: the conflicts of
// a server-side apply without force. It is empty when there are none, or the agent has not said, and for every other
// reason why a work cannot be applied: those come and go with what the work has brought.
func Refused(w *workv1.ManifestWork) string {
	if UpdateModeOf(w) != Apply || len(w.Spec.ManifestConfigs) == 0 || Outcome(w) != metav1.ConditionFalse {
		return ""
	}
	c := feedback.WorkCondition(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier, workv1.WorkApplied)
	if c == nil {
		return ""
	}
	_, conflicts, _ := strings.Cut(c.Message, conflicting) // whatever the agent (v1.2.0) puts before it
	return conflicts
}

// RefusedForMark tells whether all that keeps a work that asks from what its cluster has is the agent's own mark, the digest of what it has
// applied last, of a request or a release that Towline has sent there: those have field managers of their own.
func RefusedForMark(w *workv1.ManifestWork) bool {
	refused := Refused(w)
	return slices.ContainsFunc([]string{operationManager, terminationManager, releaseManager}, func(manager string) bool {
		return refused == fmt.Sprintf("1 conflict: conflict with %q: .metadata.annotations.%s", manager, workv1.ManifestConfigSpecHashAnnotationKey)
	})
}

// outdated are the words by which an API server (Kubernetes 1.34, apiserver/pkg/registry/generic/registry) refuses a change of
// another version of an object than the one that is there, and conflicting those (apimachinery/pkg/util/managedfields) before the
// fields that a server-side apply without force would have changed.
const (
	outdated    = "the object has been modified"
	conflicting = "Apply failed with "
)

// overtaken tells whether these are the words by which a request is refused because the Application there has changed since it was
// made. One that went through Maestro says what it expects of the Application's operations in place of its version.
func overtaken(message string) bool {
	_, fields, _ := strings.Cut(message, conflicting)
	return strings.Contains(message, outdated) || strings.Contains(fields, ".operation") // .status.operationState, too
}

// Outdated tells whether the agent could not apply what a work carries because the Application there has another version by now
// than the one that a request was made for.
func Outdated(w *workv1.ManifestWork) bool {
	if len(w.Spec.ManifestConfigs) == 0 || Outcome(w) != metav1.ConditionFalse {
		return false
	}
	c := feedback.WorkCondition(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier, workv1.WorkApplied)
	return c != nil && overtaken(c.Message)
}

// Retried tells whether the agent could not apply a request for no other reason than Outdated has, in what it says of this or an
// earlier state of the work: Towline asks again by the version that is there, and nobody has to do anything. The same words of a
// work that carries no request are a trouble: nothing in it is made for one version.
func Retried(w *workv1.ManifestWork, app *argocd.Application) bool {
	if !CarriesRequest(w) && Outcome(w) == metav1.ConditionFalse {
		return false
	}
	c := feedback.WorkCondition(&w.Status, Identifier(app), workv1.WorkApplied)
	return c != nil && c.Status == metav1.ConditionFalse && overtaken(c.Message)
}

// Outcome is what the work agent says of applying the work as it is now; empty while it has not said. It says nothing of a work
// that was Disabled: it has applied none of that.
func Outcome(w *workv1.ManifestWork) metav1.ConditionStatus {
	if Disabled(w) {
		return ""
	}
	return outcome(w)
}

// outcome is that of all that a work holds, each in its way.
func outcome(w *workv1.ManifestWork) metav1.ConditionStatus { return says(w, workv1.WorkApplied) }

// says is the status of a condition of the work as it is now; empty while the agent has not said.
func says(w *workv1.ManifestWork, conditionType string) metav1.ConditionStatus {
	c := meta.FindStatusCondition(w.Status.Conditions, conditionType)
	if c == nil || c.ObservedGeneration != w.Generation {
		return ""
	}
	return c.Status
}

// Reported tells whether the agent has read all that a work carries, and answered what the work asks for as it is now. An agent (v1.2.0)
// applies and reads apart from each other: either may come first.
func Reported(w *workv1.ManifestWork) bool {
	return says(w, workv1.WorkAvailable) == metav1.ConditionTrue
}

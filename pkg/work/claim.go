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

// UpdateMode is how a work treats an Application that exists on the cluster already.
type UpdateMode int

const (
	// ForceApply overwrites the existing Application.
	ForceApply UpdateMode = iota
	// Apply applies the Application, unless the apply would change a field that another field manager owns. Then the
	// agent (v1.2.0) reports the fields, changes nothing and does not become an owner.
	Apply
	// ReadOnly changes nothing, and reports whether the Application exists.
	ReadOnly
	// CreateOnly creates a missing Application, and changes no existing Application. Used for an Application released
	// before Towline took over the existing copy.
	CreateOnly
)

// modes are the values of AnnotationUpdateMode.
var modes = map[UpdateMode]string{ForceApply: "ForceApply", Apply: "Apply", ReadOnly: "ReadOnly", CreateOnly: "CreateOnly"}

// noteMode stores the mode in AnnotationUpdateMode.
func noteMode(w *workv1.ManifestWork, m UpdateMode) {
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, apis.AnnotationUpdateMode, modes[m])
}

// notedMode returns the mode in AnnotationUpdateMode, and whether the mode is known. Older controllers note no mode, and
// apply with force.
func notedMode(w *workv1.ManifestWork) (UpdateMode, bool) {
	noted := w.Annotations[apis.AnnotationUpdateMode]
	for m, word := range modes {
		if word == noted {
			return m, true
		}
	}
	if ByOlder(w) {
		return ForceApply, true
	}
	return ReadOnly, false
}

// UpdateModeOf returns how the work treats an existing Application. For a Disabled work, the result is the mode from
// before the work was disabled.
func UpdateModeOf(w *workv1.ManifestWork) UpdateMode {
	switch strategyType(w) {
	case workv1.UpdateStrategyTypeReadOnly:
		noted, _ := notedMode(w)
		return noted
	case workv1.UpdateStrategyTypeCreateOnly:
		return CreateOnly
	case workv1.UpdateStrategyTypeServerSideApply:
		if s := configOf(w).UpdateStrategy; s.ServerSideApply == nil || !s.ServerSideApply.Force {
			return Apply
		}
	}
	return ForceApply
}

// SetUpdateMode changes the mode of a rendered work.
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

// AskOrigin adds the feedback rule about the origin of the Application on the cluster to a rendered work.
func AskOrigin(w *workv1.ManifestWork) {
	rules := &w.Spec.ManifestConfigs[0].FeedbackRules
	*rules = append(*rules, originRule)
}

// AsksOrigin reports whether a work has the feedback rule about the origin of the Application on the cluster.
func AsksOrigin(w *workv1.ManifestWork) bool {
	return hasRule(w, originRule)
}

// RefusedForEdit reports whether a conflict of a work with the mode Apply comes from an edit after the delivery. As
// proof, the agent has reported that this work owns the Application on the cluster.
func RefusedForEdit(w *workv1.ManifestWork) bool {
	if !AsksOrigin(w) || UpdateModeOf(w) != Apply || !found(w, metav1.ConditionTrue) {
		return false
	}
	owner, known := feedback.OriginOwner(&w.Status, Resource(w))
	return known && isOf(owner, w)
}

var originRule = feedback.OriginRule()

// FoundReleased reports whether the agent of a ReadOnly work has found an Application delivered and released by the
// work. An earlier work of the same name counts too, because the name contains a part of the UID of the hub's
// Application. No other agent owns the Application.
func FoundReleased(w *workv1.ManifestWork) bool {
	return UpdateModeOf(w) == ReadOnly && found(w, metav1.ConditionTrue) &&
		feedback.Origin(&w.Status, Resource(w)) == w.Name
}

// Refused returns the conflicts of a server-side apply without force: the fields by which the API server refuses a
// work with the mode Apply. The result is empty without conflicts, and while the agent has not reported. All other
// reasons for a failed apply also give an empty result, because they also occur after the work has delivered the
// Application.
func Refused(w *workv1.ManifestWork) string {
	c := Condition(w, workv1.WorkApplied)
	if c == nil || UpdateModeOf(w) != Apply || Outcome(w) != metav1.ConditionFalse {
		return ""
	}
	_, conflicts, _ := strings.Cut(c.Message, conflicting) // the agent (v1.2.0) adds a prefix
	return conflicts
}

// RefusedForMark reports whether the only conflict of a work with the mode Apply is an annotation of the agent: the
// digest of the last applied manifest. The digest comes from an earlier request or release by Towline, with a
// separate field manager.
func RefusedForMark(w *workv1.ManifestWork) bool {
	refused := Refused(w)
	return refused != "" && slices.ContainsFunc([]string{operationManager, terminationManager, releaseManager}, func(manager string) bool {
		return refused == fmt.Sprintf("1 conflict: conflict with %q: .metadata.annotations.%s", manager, workv1.ManifestConfigSpecHashAnnotationKey)
	})
}

// RefusedBy returns why the agent has not taken over the existing Application; empty for no existing Application, and
// before the agent's report.
func RefusedBy(w *workv1.ManifestWork) string {
	switch UpdateModeOf(w) {
	case Apply:
		if RefusedForEdit(w) || AsksOrigin(w) && !Reported(w) {
			return "" // about to be applied by force, or not known yet
		}
		return Refused(w)
	case ReadOnly:
		if Found(w) == metav1.ConditionTrue {
			return "the Application is on the cluster"
		}
	case ForceApply, CreateOnly:
	}
	return ""
}

// outdated and conflicting are messages of an API server. outdated (Kubernetes 1.34,
// apiserver/pkg/registry/generic/registry) refuses a write with an old resourceVersion. conflicting
// (apimachinery/pkg/util/managedfields) precedes the conflicting fields of a server-side apply without force.
const (
	outdated    = "the object has been modified"
	conflicting = "Apply failed with "
)

// overtaken reports whether a message refuses a request because the cluster's Application has changed since the
// request was made. A request through Maestro has no resourceVersion, but expects a state of the Application's
// operations.
func overtaken(message string) bool {
	_, fields, _ := strings.Cut(message, conflicting)
	return strings.Contains(message, outdated) || strings.Contains(fields, ".operation") // also matches .status.operationState
}

// Outdated reports whether the agent could not apply a request, because the cluster's Application now has another
// version than the request expects.
func Outdated(w *workv1.ManifestWork) bool {
	c := Condition(w, workv1.WorkApplied)
	return c != nil && Outcome(w) == metav1.ConditionFalse && overtaken(c.Message)
}

// Retried reports whether the agent could not apply a request for the same reason as in Outdated, in the current or in
// an earlier generation of the work. Towline then asks again with the current version, and no user has to act. In a
// work without a request, the same message is a problem, because the content of the work does not depend on a version.
func Retried(w *workv1.ManifestWork, app *argocd.Application) bool {
	if !CarriesRequest(w) && Outcome(w) == metav1.ConditionFalse {
		return false
	}
	c := feedback.WorkCondition(&w.Status, Identifier(app), workv1.WorkApplied)
	return c != nil && c.Status == metav1.ConditionFalse && overtaken(c.Message)
}

// Outcome returns the status of the work agent's condition Applied for the current generation. Empty: the agent has
// not reported yet, or the work is Disabled. The agent does not apply a Disabled work.
func Outcome(w *workv1.ManifestWork) metav1.ConditionStatus {
	if Disabled(w) {
		return ""
	}
	return outcome(w)
}

// outcome returns the status of the condition Applied for all manifests of a work, each in its own mode.
func outcome(w *workv1.ManifestWork) metav1.ConditionStatus {
	return conditionNow(w, workv1.WorkApplied)
}

// Condition returns the agent's condition of the Application, for any generation of the work; nil without a report.
func Condition(w *workv1.ManifestWork, conditionType string) *metav1.Condition {
	return feedback.WorkCondition(&w.Status, Resource(w), conditionType)
}

// Found returns whether the agent has found the Application of a work. Empty: no report yet. Unknown: the agent could
// not read the Application. After False, the other feedback is older, because the agent (v1.2.0) keeps the last feedback.
func Found(w *workv1.ManifestWork) metav1.ConditionStatus {
	if c := Condition(w, workv1.WorkAvailable); c != nil {
		return c.Status
	}
	return ""
}

// conditionNow returns the status of a condition for the current generation of the work. Empty: the agent has not reported
// yet.
func conditionNow(w *workv1.ManifestWork, conditionType string) metav1.ConditionStatus {
	c := meta.FindStatusCondition(w.Status.Conditions, conditionType)
	if c == nil || c.ObservedGeneration != w.Generation {
		return ""
	}
	return c.Status
}

// Reported reports whether the agent has read all resources of the work, and answered the feedback rules of the
// current generation. The agent (v1.2.0) applies and reads in separate steps, in any order.
func Reported(w *workv1.ManifestWork) bool {
	return conditionNow(w, workv1.WorkAvailable) == metav1.ConditionTrue
}

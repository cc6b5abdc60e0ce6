package work

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
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

var originRule = feedback.OriginRule()

// RefusedForEdit reports whether a conflict of a work with the mode Apply comes from an edit after the delivery. As
// proof, the agent has reported that this work owns the Application on the cluster.
func (r *Report) RefusedForEdit() bool {
	if r.mode != Apply || !AsksOrigin(r.Work) || !r.foundNow(metav1.ConditionTrue) {
		return false
	}
	owner, known := feedback.OriginOwner(&r.Work.Status, r.id)
	return known && isOf(owner, r.Work)
}

// FoundReleased reports whether the agent of a ReadOnly work has found an Application delivered and released by the
// work. An earlier work of the same name counts too, because the name contains a part of the UID of the hub's
// Application. No other agent owns the Application.
func (r *Report) FoundReleased() bool {
	return r.mode == ReadOnly && r.foundNow(metav1.ConditionTrue) &&
		feedback.Origin(&r.Work.Status, r.id) == r.Work.Name
}

// Conflicts returns the conflicts of a server-side apply without force: the fields by which the API server refuses a
// work with the mode Apply. The result is empty without conflicts, and while the agent has not reported. All other
// reasons for a failed apply also give an empty result, because they also occur after the work has delivered the
// Application.
func (r *Report) Conflicts() string {
	if r.mode != Apply || r.outcome != metav1.ConditionFalse {
		return ""
	}
	c := r.Condition(workv1.WorkApplied)
	if c == nil {
		return ""
	}
	_, conflicts, _ := strings.Cut(c.Message, conflicting) // the agent (v1.2.0) adds a prefix
	return conflicts
}

// RefusedForMark reports whether the only conflict of a work with the mode Apply is an annotation of the agent: the
// digest of the last applied manifest. The digest comes from an earlier request or release by Towline, with a
// separate field manager.
func (r *Report) RefusedForMark() bool {
	refused := r.Conflicts()
	return refused != "" && slices.ContainsFunc([]string{operationManager, terminationManager, releaseManager}, func(manager string) bool {
		return refused == fmt.Sprintf("1 conflict: conflict with %q: .metadata.annotations.%s", manager, workv1.ManifestConfigSpecHashAnnotationKey)
	})
}

// RefusedBy returns why the agent has not taken over the existing Application; empty for no existing Application, and
// before the agent's report.
func (r *Report) RefusedBy() string {
	switch r.mode {
	case Apply:
		if r.RefusedForEdit() || AsksOrigin(r.Work) && !r.Reported() {
			return "" // about to be applied by force, or not known yet
		}
		return r.Conflicts()
	case ReadOnly:
		if r.Found() == metav1.ConditionTrue {
			return "the Application is on the cluster"
		}
	case ForceApply, CreateOnly:
	}
	return ""
}

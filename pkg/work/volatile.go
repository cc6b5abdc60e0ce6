package work

import (
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

var volatileRule = feedback.VolatileRule()

// TellsVolatile tells whether a work asks for what the cluster's Argo CD writes with every comparison.
func TellsVolatile(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && slices.ContainsFunc(w.Spec.ManifestConfigs[0].FeedbackRules, isVolatileRule)
}

// AskVolatile is the work changed so that it asks for what the cluster's Argo CD writes with every comparison, and whether
// anything had to change. It is the work itself where somebody has changed it so that it asks for nothing.
func AskVolatile(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if TellsVolatile(w) || len(w.Spec.ManifestConfigs) == 0 {
		return w, false
	}
	out := w.DeepCopy()
	rules := &out.Spec.ManifestConfigs[0].FeedbackRules
	*rules = append(*rules, feedback.VolatileRule())
	return out, true
}

// AsksCompared tells whether a work asks for feedback.ConditionCompared. A hub of an OCM before 1.0 drops the question, and a work that an
// earlier Towline has written does not have it.
func AsksCompared(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && sameConditionRules(w.Spec.ManifestConfigs[0].ConditionRules, feedback.ComparedRules())
}

func isVolatileRule(r workv1.FeedbackRule) bool { return sameRule(r, volatileRule) }

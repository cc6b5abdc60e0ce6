package work

import (
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

var volatileRule, detailRule = feedback.VolatileRule(), feedback.DetailRule()

// TellsVolatile reports whether a work has the feedback rule about the fields that Argo CD writes with every
// comparison.
func TellsVolatile(w *workv1.ManifestWork) bool { return hasRule(w, volatileRule) }

// TellsDetails reports whether a work has feedback.DetailRule.
func TellsDetails(w *workv1.ManifestWork) bool { return hasRule(w, detailRule) }

// hasRule reports whether the work has the feedback rule for its Application.
func hasRule(w *workv1.ManifestWork, rule workv1.FeedbackRule) bool {
	return slices.ContainsFunc(configOf(w).FeedbackRules, func(r workv1.FeedbackRule) bool { return sameRule(r, rule) })
}

// AskVolatile adds the feedback rule about the fields that Argo CD writes with every comparison, and reports whether
// the work had to change. AskVolatile returns the work itself if an edit has removed the configuration of the work.
func AskVolatile(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if TellsVolatile(w) || len(w.Spec.ManifestConfigs) == 0 {
		return w, false
	}
	out := w.DeepCopy()
	rules := &out.Spec.ManifestConfigs[0].FeedbackRules
	*rules = append(*rules, feedback.VolatileRule())
	return out, true
}

// AsksCompared reports whether a work has the rule about feedback.ConditionCompared. A hub with an OCM before 1.0
// drops the rule, and works from an earlier Towline lack the rule.
func AsksCompared(w *workv1.ManifestWork) bool {
	return sameConditionRules(configOf(w).ConditionRules, feedback.ConditionRules())
}

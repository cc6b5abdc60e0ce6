package feedback_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

// TestCompared checks the time of the comparison, from the agent's condition Compared and the reported operation.
func TestCompared(t *testing.T) {
	const at, began, end = "2026-01-02T03:04:00Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	condition := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: feedback.ConditionCompared, Status: status, Reason: reason}}
	}
	compared := condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated)
	waits := condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated)
	values := func(of ...string) (out []workv1.FeedbackValue) {
		for i := 0; i < len(of); i += 2 {
			out = append(out, workv1.FeedbackValue{Name: of[i], Value: workv1.FieldValue{Type: workv1.String, String: &of[i+1]}})
		}
		return out
	}
	made := values("uid", "u", "creationTimestamp", at)
	operation := func(phase, began, ended string) []workv1.FeedbackValue {
		return append(made[:2:2], values("operationStatePhase", phase, "operationStateStartedAt", began, "operationStateFinishedAt", ended)...)
	}
	automated := func(sync string, v []workv1.FeedbackValue) []workv1.FeedbackValue {
		yes := true
		return append(append(v, values("syncStatus", sync)...), workv1.FeedbackValue{
			Name: "operationStateAutomated", Value: workv1.FieldValue{Type: workv1.Boolean, Boolean: &yes},
		})
	}
	for title, tc := range map[string]struct {
		conditions []metav1.Condition
		values     []workv1.FeedbackValue
		told       bool
		since      string
	}{
		"an agent without support for rules":        {nil, made, false, ""},
		"compared, without an operation":            {compared, made, true, at},
		"compared, without the time of creation":    {compared, values("uid", "u"), false, ""},
		"not compared":                              {waits, made, true, ""},
		"compared since the operation":              {compared, operation("Succeeded", began, end), true, end},
		"not compared since the operation":          {waits, operation("Succeeded", began, end), true, ""},
		"an operation runs":                         {compared, operation("Running", began, ""), true, ""},
		"an operation waits for the next attempt":   {compared, operation("Running", began, end), true, ""},
		"an operation without an end":               {compared, operation("Failed", began, ""), false, ""},
		"the comparison may be the cause of a sync": {compared, automated("OutOfSync", operation("Succeeded", end, end)), false, end},
		"the result of the sync":                    {compared, automated("Synced", operation("Succeeded", end, end)), true, end},
		"the sync took a second":                    {compared, automated("OutOfSync", operation("Succeeded", began, end)), true, end},
		"the sync failed":                           {compared, automated("OutOfSync", operation("Failed", end, end)), true, end},
		"a sync by a user in the second of a comparison": {
			compared, append(operation("Succeeded", end, end), values("syncStatus", "OutOfSync")...), true, end},
		"the rule has an error": {condition(metav1.ConditionFalse, workv1.ConditionRuleExpressionError), made, false, ""},
		"no Application":        {compared, nil, false, ""},
	} {
		t.Run(title, func(t *testing.T) {
			id := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "a"}
			status := &workv1.ManifestWorkStatus{ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{{
				ResourceMeta:    workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name},
				Conditions:      tc.conditions,
				StatusFeedbacks: workv1.StatusFeedbackResult{Values: tc.values},
			}}}}
			got := feedback.Parse(status, id)
			if got.TellsCompared != tc.told || tc.told && got.ComparedSince != tc.since {
				t.Errorf("it tells: %t, since %q", got.TellsCompared, got.ComparedSince)
			}
		})
	}
}

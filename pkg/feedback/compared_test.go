package feedback_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

// TestCompared checks that the time in the agent's condition Compared is accepted only if the time is valid.
func TestCompared(t *testing.T) {
	const at = "2026-01-02T03:04:06Z"
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: feedback.ConditionCompared, Status: status, Reason: reason, Message: message}}
	}
	values := func(of ...string) (out []workv1.FeedbackValue) {
		for i := 0; i < len(of); i += 2 {
			out = append(out, workv1.FeedbackValue{Name: of[i], Value: workv1.FieldValue{Type: workv1.String, String: &of[i+1]}})
		}
		return out
	}
	named, runs := values("uid", "u"), values("uid", "u", "operationStatePhase", "Running")
	ended := func(at string) []workv1.FeedbackValue {
		return values("uid", "u", "operationStatePhase", "Succeeded", "operationStateFinishedAt", at)
	}
	for title, tc := range map[string]struct {
		conditions []metav1.Condition
		values     []workv1.FeedbackValue
		told       bool
		since      string
	}{
		"an agent that does not know the rule": {nil, named, false, ""},
		"compared":                             {condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, at), named, true, at},
		"not compared":                         {condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated, "not yet"), named, true, ""},
		"not compared, with a time":            {condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated, at), named, false, ""},
		"no time":                              {condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, "soon"), named, false, ""},
		"since the operation that is reported": {condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, at), ended(at), true, at},
		"not since the operation":              {condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated, "not since "+at), ended(at), true, ""},
		"not yet, before the operation ended, left by a later agent": {
			condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated, "not yet"), ended(at), false, ""},
		"not since an operation before, left by a later agent": {
			condition(metav1.ConditionFalse, workv1.ConditionRuleEvaluated, "not since "+at), ended("2026-01-02T03:09:06Z"), false, ""},
		"since its making, left by a later agent": {condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, at), runs, false, ""},
		"since an operation before, left by a later agent": {
			condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, at), ended("2026-01-02T03:09:06Z"), false, ""},
		"it could not be evaluated":          {condition(metav1.ConditionFalse, workv1.ConditionRuleExpressionError, at), named, false, ""},
		"of an Application that is not read": {condition(metav1.ConditionTrue, workv1.ConditionRuleEvaluated, at), nil, false, ""},
	} {
		t.Run(title, func(t *testing.T) {
			id := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "a"}
			status := &workv1.ManifestWorkStatus{ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{{
				ResourceMeta:    workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name},
				Conditions:      tc.conditions,
				StatusFeedbacks: workv1.StatusFeedbackResult{Values: tc.values},
			}}}}
			got := feedback.Parse(status, id)
			if got.TellsCompared != tc.told || got.ComparedSince != tc.since {
				t.Errorf("it tells: %t, since %q", got.TellsCompared, got.ComparedSince)
			}
		})
	}
}

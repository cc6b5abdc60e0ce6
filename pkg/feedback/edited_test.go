package feedback_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

// TestEdit checks that the mark of an edit has only characters of a label value, and that only the agent's answer to
// the rule counts.
func TestEdit(t *testing.T) {
	id := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "a"}
	const evaluated = workv1.ConditionRuleEvaluated
	for title, tc := range map[string]struct {
		status        metav1.ConditionStatus
		reason        string
		applied, want string
	}{
		"unedited":              {metav1.ConditionTrue, evaluated, "2026-01-02T03:04:05Z", ""},
		"an edit":               {metav1.ConditionFalse, evaluated, "2026-01-02T03:04:05Z", "2026-01-02T03.04.05Z"},
		"another time zone":     {metav1.ConditionFalse, evaluated, "2026-01-02T04:04:05+01:00", "2026-01-02T04.04.05.01.00"},
		"no entry of the agent": {metav1.ConditionFalse, evaluated, "", ""},
		"no time":               {metav1.ConditionFalse, evaluated, "../../x_7", ""},
		"no number of fields":   {metav1.ConditionFalse, workv1.ConditionRuleExpressionError, "2026-01-02T03:04:05Z", "2026-01-02T03.04.05Z"},
		"a different author":    {metav1.ConditionFalse, "Other", "2026-01-02T03:04:05Z", ""},
	} {
		status := workv1.ManifestWorkStatus{}
		status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name},
			Conditions:   []metav1.Condition{{Type: feedback.ConditionUnedited, Status: tc.status, Reason: tc.reason}},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
				{Name: "agentAppliedAt", Value: workv1.FieldValue{Type: workv1.String, String: &tc.applied}},
			}},
		}}
		if got := feedback.Parse(&status, id); got.Edit != tc.want {
			t.Errorf("%s: got %q, want %q", title, got.Edit, tc.want)
		}
	}
}

package feedback_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
)

// TestEdit checks that the mark of an edit has only characters of a label value, and that a message in a different form
// has no mark.
func TestEdit(t *testing.T) {
	id := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "a"}
	for message, want := range map[string]string{
		"not yet":                               "",
		"not yet edited 2026-01-02T03:04:05Z_7": "2026-01-02T03.04.05Z_7",
		"2026-01-02T03:04:05Z edited 2026-01-02T03:04:06Z_12":        "2026-01-02T03.04.06Z_12",
		"not yet edited 2026-01-02T03:04:05Z":                        "",
		"not yet edited ../../x_7":                                   "",
		"not yet edited a edited b_1":                                "",
		strings.Repeat("x", feedback.MaxMessage) + " edited 2026Z_7": "",
	} {
		status := workv1.ManifestWorkStatus{}
		status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name},
			Conditions:   []metav1.Condition{{Type: feedback.ConditionCompared, Reason: workv1.ConditionRuleEvaluated, Message: message}},
		}}
		if got := feedback.Parse(&status, id); got.Edit != want {
			t.Errorf("%.60q: got %q, want %q", message, got.Edit, want)
		}
	}
}

package work_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/work"
)

// TestTook: only conflicts with what was there prove that a work has not brought it. A work whose ServiceAccount may not
// write any more may have written before.
func TestTook(t *testing.T) {
	for title, tc := range map[string]struct {
		claim   work.Claim
		applied metav1.ConditionStatus
		says    string
		want    bool
	}{
		"takes":            {work.Takes, metav1.ConditionFalse, "Apply failed with 1 conflict: …", true},
		"asks, applied":    {work.Asks, metav1.ConditionTrue, "", true},
		"asks, no answer":  {work.Asks, "", "", true},
		"asks, no rights":  {work.Asks, metav1.ConditionFalse, "not allowed to apply the resource", true},
		"asks, conflicted": {work.Asks, metav1.ConditionFalse, "Apply failed with 1 conflict: …", false},
		"looks":            {work.Looks, metav1.ConditionTrue, "", false},
	} {
		w := rendered(t, work.Requests{})
		work.SetClaim(w, tc.claim)
		if tc.applied != "" {
			w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: tc.applied, Message: tc.says}}
		}
		if got := work.Took(w); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

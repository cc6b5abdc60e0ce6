package work_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestOutdated: only an API server's message about versions counts, for the current generation of the work. Retried
// also accepts an earlier generation, but only for a request.
func TestOutdated(t *testing.T) {
	const words = `Failed to apply manifest: Operation cannot be fulfilled on applications.argoproj.io "x": the object has been modified`
	for title, tc := range map[string]struct {
		status     metav1.ConditionStatus
		message    string
		generation int64
		want       bool
		request    bool
		retried    bool
	}{
		"another version":   {metav1.ConditionFalse, words, 1, true, true, true},
		"without a request": {metav1.ConditionFalse, words, 1, true, false, false},
		"another reason":    {metav1.ConditionFalse, "Failed to apply manifest: etcdserver: request timed out", 1, false, true, false},
		"of fields":         {metav1.ConditionFalse, "Failed to apply manifest: Apply failed with 1 conflict: .spec", 1, false, true, false},
		"of operations": {
			metav1.ConditionFalse, `Failed to apply manifest: Apply failed with 1 conflict: conflict with "argocd-application-controller" ` +
				`using argoproj.io/v1alpha1: .status.operationState.startedAt`, 1, true, true, true,
		},
		"of one that waits":  {metav1.ConditionFalse, "Apply failed with 1 conflict: .operation.initiatedBy.automated", 1, true, true, true},
		"applied":            {metav1.ConditionTrue, words, 1, false, true, false},
		"of the work before": {metav1.ConditionFalse, words, 0, false, false, true},
	} {
		app := fixture.Application("guestbook").Obj()
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		w.Generation = 1
		if tc.request {
			w.Annotations[apis.AnnotationRequestSent] = "sent 1-a 7 d"
		}
		w.Status = fixture.Feedback(work.Identifier(app)).Condition(workv1.WorkApplied, tc.status, tc.message).Obj()
		for i := range w.Status.Conditions {
			w.Status.Conditions[i].ObservedGeneration = tc.generation
		}
		if got := work.ReportOf(w).Outdated(); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
		if got := work.Retried(w, app); got != tc.retried {
			t.Errorf("%s: retried: %t", title, got)
		}
	}
	if work.ReportOf(&workv1.ManifestWork{}).Outdated() {
		t.Error("a work that says nothing is outdated")
	}
}

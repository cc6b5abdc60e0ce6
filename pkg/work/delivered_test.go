package work_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestDelivered: a delivery needs the Application's own work. The agent must have applied the work, and the work must
// not be disabled, released or in deletion.
func TestDelivered(t *testing.T) {
	app := fixture.Application("guestbook").Cluster("cluster1").Obj()
	applied := func(w *workv1.ManifestWork, observed int64, status metav1.ConditionStatus) {
		w.Status = fixture.Feedback(work.Identifier(app)).Condition(workv1.WorkApplied, status, "").Obj()
		for i := range w.Status.Conditions {
			w.Status.Conditions[i].ObservedGeneration = observed
		}
	}
	for title, tc := range map[string]struct {
		change func(*workv1.ManifestWork)
		want   bool
	}{
		"applied":                    {func(*workv1.ManifestWork) {}, true},
		"with a pending change":      {func(w *workv1.ManifestWork) { w.Generation++ }, true},
		"not applied yet":            {func(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }, false},
		"refused by the cluster":     {func(w *workv1.ManifestWork) { applied(w, 2, metav1.ConditionFalse) }, false},
		"of another Application":     {func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationHubNamespace] = "other" }, false},
		"without a mark":             {func(w *workv1.ManifestWork) { w.Annotations = nil }, false},
		"being deleted":              {func(w *workv1.ManifestWork) { now := metav1.Now(); w.DeletionTimestamp = &now }, false},
		"to a second namespace":      {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace = "other" }, false},
		"without a configuration":    {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs = nil }, false},
		"read-only":                  {func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.ReadOnly) }, false},
		"adopting, and applied":      {func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.Apply) }, true},
		"adopting, and not answered": {func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.Apply); w.Generation++ }, false},
		"released": {func(w *workv1.ManifestWork) {
			released, err := work.Release(w, app)
			if err != nil {
				t.Fatal(err)
			}
			*w = *released
		}, false},
	} {
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		w.Generation = 2
		applied(w, 2, metav1.ConditionTrue)
		tc.change(w)
		if got := work.Delivered(w, app); got != tc.want {
			t.Errorf("a work %s: got %t", title, got)
		}
	}
}

package work_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestWatches: a work makes the agent watch a place, unless the work is in deletion or its Application is missing.
func TestWatches(t *testing.T) {
	report := func(w *workv1.ManifestWork, available metav1.ConditionStatus) {
		id := w.Spec.ManifestConfigs[0].ResourceIdentifier
		fixture.Report(w, fixture.Feedback(id).Condition(workv1.WorkAvailable, available, "").Obj())
	}
	for title, tc := range map[string]struct {
		edit func(*workv1.ManifestWork)
		want string
	}{
		"a new work":                    {func(*workv1.ManifestWork) {}, "cluster1/argocd"},
		"the Application exists":        {func(w *workv1.ManifestWork) { report(w, metav1.ConditionTrue) }, "cluster1/argocd"},
		"the Application is unreadable": {func(w *workv1.ManifestWork) { report(w, metav1.ConditionUnknown) }, "cluster1/argocd"},
		"the Application is missing":    {func(w *workv1.ManifestWork) { report(w, metav1.ConditionFalse) }, ""},
		"in deletion":                   {func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{} }, ""},
		"polled": {func(w *workv1.ManifestWork) {
			w.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType
		}, ""},
		"a hub without feedbackScrapeType": {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].FeedbackScrapeType = "" }, ""},
		"no configuration":                 {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs = nil }, ""},
	} {
		w := render(t, fixture.Application("guestbook"))
		tc.edit(w)
		if got := work.Watches(w); got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}

// TestWatched: of several works that watch a place, the work with the last name remains.
func TestWatched(t *testing.T) {
	watching := func(name string) *workv1.ManifestWork {
		w := render(t, fixture.Application(name))
		w.Name = name
		return w
	}
	a, b, polled := watching("a"), watching("b"), watching("c")
	polled.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType
	for title, tc := range map[string]struct {
		name string
		own  *workv1.ManifestWork
		all  []*workv1.ManifestWork
		want bool
	}{
		"the first work of a place":        {"a", nil, nil, false},
		"a new work":                       {"a", nil, []*workv1.ManifestWork{b}, true},
		"a new work with the last name":    {"c", nil, []*workv1.ManifestWork{b}, true},
		"the only work that watches":       {"b", b, []*workv1.ManifestWork{b}, false},
		"the first of two":                 {"a", a, []*workv1.ManifestWork{a, b}, true},
		"the second of two":                {"b", b, []*workv1.ManifestWork{a, b}, false},
		"no work watches any more":         {"c", polled, nil, false},
		"polled, and another work watches": {"c", polled, []*workv1.ManifestWork{a}, true},
	} {
		if got := work.Watched(tc.name, tc.own, tc.all); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

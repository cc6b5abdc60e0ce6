package work_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// reordered returns the same JSON with another order of keys and more white space.
func reordered(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUpdate(t *testing.T) {
	desired := render(t, fixture.Application("guestbook").ApplicationSet("set").Finalizers(apis.FinalizerResources))
	tests := map[string]struct {
		edit    func(*workv1.ManifestWork)
		changed bool
	}{
		"the same": {func(*workv1.ManifestWork) {}, false},
		"the same JSON in other words": {func(w *workv1.ManifestWork) {
			w.Spec.Workload.Manifests[0].Raw = reordered(t, w.Spec.Workload.Manifests[0].Raw)
		}, false},
		"labels and annotations of others": {func(w *workv1.ManifestWork) {
			w.Labels["team"], w.Annotations["note"] = "a", "b"
		}, false},
		"a hub that does not know feedbackScrapeType": {func(w *workv1.ManifestWork) {
			w.Spec.ManifestConfigs[0].FeedbackScrapeType = ""
		}, false},
		"a hub that does not know conditionRules": {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].ConditionRules = nil }, false},
		"condition rule edited": {func(w *workv1.ManifestWork) {
			w.Spec.ManifestConfigs[0].ConditionRules[0].CelExpressions = []string{"true"}
		}, true},
		"feedback polled": {func(w *workv1.ManifestWork) {
			w.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType
		}, true},
		"label gone":        {func(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) }, true},
		"annotation edited": {func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationHubName] = "x" }, true},
		"Application there again": {func(w *workv1.ManifestWork) {
			w.Annotations[apis.AnnotationOrphaned] = "delete"
		}, true},
		"payload edited":   {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(`{"a":1}`) }, true},
		"payload not JSON": {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(`{`) }, true},
		"manifest added": {func(w *workv1.ManifestWork) {
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{}`)}})
		}, true},
		"feedback rule gone": {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].FeedbackRules = nil }, true},
		"executor set":       {func(w *workv1.ManifestWork) { w.Spec.Executor = &workv1.ManifestWorkExecutor{} }, true},
		"delete option set": {func(w *workv1.ManifestWork) {
			w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
		}, true},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			existing := desired.DeepCopy()
			tc.edit(existing)
			before := existing.DeepCopy()
			updated, changed := work.Update(existing, desired)
			if changed != tc.changed {
				t.Errorf("changed = %t", changed)
			}
			if diff := cmp.Diff(before, existing); diff != "" {
				t.Errorf("Update changed its input:\n%s", diff)
			}
			if _, again := work.Update(updated, desired); again {
				t.Error("a second Update finds something to change: it would never end")
			}
		})
	}
}

func TestUpdateTakesMarksOffAWorkThatLeftItsSet(t *testing.T) {
	existing := render(t, fixture.Application("guestbook").ApplicationSet("set"))
	existing.Labels["team"] = "a"
	updated, _ := work.Update(existing, render(t, fixture.Application("guestbook")))
	if diff := cmp.Diff(map[string]string{apis.LabelPull: "true", "team": "a"}, updated.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if updated.Annotations[apis.AnnotationApplicationSet] != "" {
		t.Error("the annotation of the set stayed")
	}
}

func TestUpdateTellsLargeNumbersApart(t *testing.T) {
	a := render(t, fixture.Application("a").Spec(`{"n":9007199254740992}`))
	b := render(t, fixture.Application("a").Spec(`{"n":9007199254740993}`))
	if _, changed := work.Update(a, b); !changed {
		t.Error("two integers that meet in a float count as equal")
	}
}

func TestCarries(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	plain := func(kind, name string) *workv1.ManifestWork {
		w := &workv1.ManifestWork{}
		w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"` + kind + `","metadata":{"name":"` + name + `"}}`)}}}
		return w
	}
	marked := &workv1.ManifestWork{}
	marked.Annotations = map[string]string{apis.AnnotationHubName: "guestbook"}
	for title, tc := range map[string]struct {
		w    *workv1.ManifestWork
		want bool
	}{
		"an unmarked work with the Application": {plain("Application", "guestbook"), true},
		"with another Application":              {plain("Application", "other"), false},
		"with something else of that name":      {plain("AppProject", "guestbook"), false},
		"marked":                                {marked, true},
		"empty":                                 {&workv1.ManifestWork{}, false},
	} {
		if got := work.Carries(tc.w, app); got != tc.want {
			t.Errorf("%s: Carries = %t", title, got)
		}
	}
}

func TestCarriesTo(t *testing.T) {
	w := render(t, fixture.Application("guestbook").Annotation(apis.AnnotationAppNamespace, "team-a"))
	for key, want := range map[types.NamespacedName]bool{
		{Namespace: "team-a", Name: "guestbook"}: true,
		{Namespace: "argocd", Name: "guestbook"}: false,
		{Namespace: "team-a", Name: "other"}:     false,
	} {
		if got := work.CarriesTo(w, key); got != want {
			t.Errorf("%s: CarriesTo = %t", key, got)
		}
	}
}

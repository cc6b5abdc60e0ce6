package work_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

func rendered(t *testing.T, requests work.Requests) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(fixture.Application("guestbook").Finalizers(apis.FinalizerResources).Obj(), requests)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRelease(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers(apis.FinalizerResources).Obj()
	onItsWay := rendered(t, work.Requests{Stored: relay.Stored{Last: relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7"}}})
	if err := work.Carry(onItsWay, app, work.Request{Operation: json.RawMessage(`{"sync":{}}`), Version: "7"}); err != nil {
		t.Fatal(err)
	}
	onItsWay.Spec.Executor = &workv1.ManifestWorkExecutor{}
	for title, w := range map[string]*workv1.ManifestWork{"an Application": rendered(t, work.Requests{}), "a request": onItsWay} {
		t.Run(title, func(t *testing.T) {
			before := w.DeepCopy()
			if work.Released(w) {
				t.Error("it counts as released already")
			}
			out, err := work.Release(w, app)
			if err != nil {
				t.Fatal(err)
			}
			raw := string(out.Spec.Workload.Manifests[0].Raw)
			if !work.Released(out) || strings.Contains(raw, "finalizers") || !strings.Contains(raw, `"spec"`) || strings.Contains(raw, `"operation"`) {
				t.Errorf("got %s, %+v", raw, out.Spec.DeleteOption)
			}
			if (out.Spec.Executor == nil) != (w.Spec.Executor == nil) {
				t.Error("it would be applied with other rights")
			}
			if _, changed := work.Update(before, w); changed {
				t.Error("what was passed in was changed")
			}
			if back, changed := work.Update(out, rendered(t, work.Requests{})); !changed || work.Released(back) || back.Spec.DeleteOption != nil {
				t.Error("it is not taken back")
			}
		})
	}
	bare := fixture.Application("guestbook").Obj()
	bare.Annotations = nil
	if out, err := work.Release(onItsWay, bare); err != nil || !work.Released(out) {
		t.Errorf("an Application that lost its annotations: %v", err)
	}
	bad := rendered(t, work.Requests{})
	bad.Spec.Workload.Manifests[0].Raw = []byte(`[]`)
	if _, err := work.Release(bad, app); err == nil || work.Released(bad) {
		t.Error("what cannot be read was released")
	}
}

// TestReleaseDropsMarks: an Application that stays on its cluster for good has no marks of the hub, sent by an
// earlier version. A work released with the marks is released again.
func TestReleaseDropsMarks(t *testing.T) {
	w := rendered(t, work.Requests{})
	earlier(t, w, func(held *argocd.Application) {
		held.Annotations[apis.AnnotationTrackingID] = "apps:argoproj.io/Application:argocd/guestbook"
		held.Annotations["team"] = "a"
		held.Labels[apis.LabelInstance] = "apps"
		held.Finalizers = nil
	})
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	if work.Released(w) {
		t.Error("it counts as released with its marks")
	}
	out, err := work.Release(w, nil)
	if err != nil || !work.Released(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	held := payloadOf(t, out)
	if diff := cmp.Diff(map[string]string{
		apis.AnnotationWork: "guestbook-4a491", apis.AnnotationFields: "10", "team": "a",
	}, held.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{apis.LabelPulled: "true"}, held.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestReleaseOfAClaim: the release does not change an Application of another owner, and forces the release of
// Towline's own Application.
func TestReleaseOfAClaim(t *testing.T) {
	for title, tc := range map[string]struct {
		claim   work.UpdateMode
		applied metav1.ConditionStatus
		says    string
		want    work.UpdateMode
	}{
		"taken":        {work.ForceApply, metav1.ConditionTrue, "", work.ForceApply},
		"not answered": {work.Apply, "", "", work.Apply},
		"refused":      {work.Apply, metav1.ConditionFalse, "Apply failed with 1 conflict: …", work.CreateOnly},
		"not allowed, perhaps not any more": {
			work.Apply, metav1.ConditionFalse, "not allowed to apply the resource", work.Apply},
		"asked and given": {work.Apply, metav1.ConditionTrue, "", work.ForceApply},
		"looked for":      {work.ReadOnly, metav1.ConditionTrue, "", work.CreateOnly},
	} {
		t.Run(title, func(t *testing.T) {
			w := rendered(t, work.Requests{})
			work.SetUpdateMode(w, tc.claim)
			if tc.applied != "" {
				w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: tc.applied, Message: tc.says}}
			}
			out, err := work.Release(w, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := work.UpdateModeOf(out); got != tc.want {
				t.Errorf("it does %d", got)
			}
			for _, answer := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
				out.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: answer}}
				if !work.Released(out) {
					t.Error("it does not count as released")
				}
			}
		})
	}
}

// TestCarry: a request removes no fields of the cluster's Application, and has the resourceVersion of its
// Application.
func TestCarry(t *testing.T) {
	app := fixture.Application("guestbook").Annotation(apis.AnnotationAppNamespace, "there").Obj()
	for title, tc := range map[string]struct {
		request           work.Request
		manifest, manager string
	}{
		"an operation": {
			work.Request{Operation: json.RawMessage(`{"sync":{"prune":true}}`), Version: "7"},
			`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",` +
				`"metadata":{"name":"guestbook","namespace":"there","resourceVersion":"7"},"operation":{"sync":{"prune":true}}}`,
			"work-agent-operation"},
		"its termination": {
			work.Request{Version: "8"},
			`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",` +
				`"metadata":{"name":"guestbook","namespace":"there","resourceVersion":"8"},` +
				`"status":{"operationState":{"phase":"Terminating"}}}`,
			"work-agent-termination"},
	} {
		t.Run(title, func(t *testing.T) {
			w, err := work.Render(app, work.Requests{})
			if err != nil {
				t.Fatal(err)
			}
			if err := work.Carry(w, app, tc.request); err != nil {
				t.Fatal(err)
			}
			if got := string(w.Spec.Workload.Manifests[0].Raw); got != tc.manifest {
				t.Errorf("got %s", got)
			}
			if got := w.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply.FieldManager; got != tc.manager {
				t.Errorf("it is applied by %s", got)
			}
		})
	}
}

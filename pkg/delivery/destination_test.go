package delivery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// sentWith changes the destination in a work, and the annotations of the Application in the work.
func sentWith(t *testing.T, destination string, annotations map[string]string) func(*workv1.ManifestWork) {
	t.Helper()
	return func(w *workv1.ManifestWork) {
		for i, m := range w.Spec.Workload.Manifests {
			var held map[string]any
			if err := json.Unmarshal(m.Raw, &held); err != nil {
				t.Fatal(err)
			}
			if held["kind"] != "Application" {
				continue
			}
			held["spec"].(map[string]any)["destination"] = json.RawMessage(destination)
			if annotations != nil {
				held["metadata"].(map[string]any)["annotations"] = annotations
			}
			raw, err := json.Marshal(held)
			if err != nil {
				t.Fatal(err)
			}
			w.Spec.Workload.Manifests[i].Raw = raw
		}
	}
}

// TestTakeoverKeepsDestinations: no takeover moves a workload to another cluster.
func TestTakeoverKeepsDestinations(t *testing.T) {
	const conflict = "PropagationError DestinationConflict"
	taken := func(b *fixture.ApplicationBuilder, sent string) *situation {
		return of(b).older(false, sentWith(t, sent, nil))
	}
	to := func(key, value string) *fixture.ApplicationBuilder { return cascading().Annotation(key, value) }
	decides(t, map[string]row{
		"the cluster itself": {is: taken(cascading(), `{"server":"https://kubernetes.default.svc","namespace":"a"}`), want: []string{"update cluster1"}},
		"its name":           {is: taken(cascading(), `{"name":"in-cluster","namespace":"a"}`), want: []string{"update cluster1"}},
		"another cluster": {
			is:   taken(cascading(), `{"name":"edge-1","namespace":"a"}`),
			want: []string{conflict}, says: "set the annotation apps.open-cluster-management.io/destination-name: edge-1."},
		"another cluster, and its agent has not looked": {
			is: taken(cascading(), `{"name":"edge-1","namespace":"a"}`).with(func(s *situation) {
				s.Own.Status, s.Own.Finalizers = workv1.ManifestWorkStatus{}, nil
			}),
			want: []string{conflict}},
		"another address": {is: taken(cascading(), `{"server":"https://e"}`), want: []string{conflict}, says: "destination-server: https://e."},
		"the same": {
			is:   taken(to(apis.AnnotationDestinationName, "edge-1"), `{"name":"edge-1","server":""}`),
			want: []string{"update cluster1"}},
		"the same address": {is: taken(to(apis.AnnotationDestinationServer, "https://e/"), `{"server":"https://e"}`), want: []string{"update cluster1"}},
		"yet another": {is: taken(to(apis.AnnotationDestinationName, "edge-2"), `{"name":"edge-1"}`), want: []string{conflict},
			says: `destination "edge-2"`},
		"the cluster itself before": {
			is:   taken(to(apis.AnnotationDestinationName, "edge-1"), `{"server":"https://kubernetes.default.svc"}`),
			want: []string{conflict}, says: "remove the annotations"},
		"another, which is to change": {
			is: taken(to(apis.AnnotationAdopt, apis.AdoptAlways), `{"name":"edge-1"}`), want: []string{"update cluster1"}},
	})
}

// TestDestinationIsFollowed: after Towline has sent an Application, a change of the destination is sent as well.
func TestDestinationIsFollowed(t *testing.T) {
	s := of(cascading().Annotation(apis.AnnotationDestinationName, "edge-2")).own(t, sentWith(t, `{"name":"edge-1","namespace":"a"}`, nil))
	plan := Decide(s.Facts, s.Options)
	if len(plan.Steps) != 1 || !strings.Contains(string(plan.Steps[0].Work.Spec.Workload.Manifests[0].Raw), `"name":"edge-2"`) {
		t.Errorf("%q, %v", outline(&plan), plan.Conditions)
	}
	ignored := map[string]string{apis.AnnotationWork: "a", apis.AnnotationDestinationName: "edge-2"}
	s.own(t, sentWith(t, `{"server":"https://kubernetes.default.svc"}`, ignored))
	plan = Decide(s.Facts, s.Options)
	if len(plan.Steps) > 0 || !slices.Contains(outline(&plan), "PropagationError DestinationConflict") {
		t.Errorf("an upgrade moves the workload: %q, %v", outline(&plan), plan.Conditions)
	}
}

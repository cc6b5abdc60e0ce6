package work_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// FuzzUpdateAndRelease: a work passes through an API server, an update, a release and back. The result equals the
// rendered work, and labels and annotations of others stay.
func FuzzUpdateAndRelease(f *testing.F) {
	f.Add(`{"project":"p","source":{"repoURL":"https://x"},"destination":{"name":"c","namespace":"a"}}`, "team", "a", apis.FinalizerResources, uint8(0))
	f.Add(`{"destination":null,"syncPolicy":{"automated":{"enabled":false}},"n":9007199254740993}`, apis.AnnotationTrackingID, "x", "", uint8(1))
	f.Add(`{"syncPolicy":{"automated":{"enabled":true,"prune":true}},"a":"<&>\u2028"}`, "a/b", "\u00e9\x00", "other", uint8(2))
	f.Add(`{"destination":{"server":"x","server":"y"},"sourceHydrator":{}}`, apis.AnnotationUpdateMode, "Apply", apis.FinalizerPreDelete, uint8(7))
	f.Fuzz(func(t *testing.T, spec, key, value, finalizer string, flags uint8) {
		app := fixture.Application("guestbook").Spec(spec).Finalizers(finalizer).Annotation(key, value).Label(key, value).Obj()
		app.Annotations[apis.AnnotationCluster], app.Labels[apis.LabelPull] = "cluster1", "true"
		var requests work.Requests
		if flags&1 != 0 {
			requests.Refresh = relay.Refresh{Kind: "hard", ID: "new", Since: fixtureTime}
		}
		requests.Volatile = flags&2 != 0
		w, err := work.Render(app, requests)
		if err != nil {
			return // the spec is not a JSON object
		}
		before := w.DeepCopy()
		w.UID = "w"
		metaOfOthers(w)
		back, changed := work.Update(stored(t, w), mustRender(t, app, requests))
		if changed {
			t.Fatalf("what was written is written again:\n%s", cmp.Diff(w, back))
		}
		released(t, app, w, requests, finalizer)
		again := mustRender(t, app, requests)
		if !equality.Semantic.DeepEqual(before.Spec, again.Spec) {
			t.Errorf("what was rendered has changed:\n%s", cmp.Diff(before, again))
		}
	})
}

var fixtureTime = relay.ParseRefresh("hard x 2026-01-02T03:04:05Z").Since

// metaOfOthers adds a label and an annotation of another author to a work.
func metaOfOthers(w *workv1.ManifestWork) {
	w.Labels["others"], w.Annotations["others"] = "label", "annotation"
}

func mustRender(t *testing.T, app *argocd.Application, requests work.Requests) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(app, requests)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// stored returns a work as read back from an API server.
func stored(t *testing.T, w *workv1.ManifestWork) *workv1.ManifestWork {
	t.Helper()
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	out := &workv1.ManifestWork{}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// released checks a released work: no finalizers and marks remain, the work counts as released, and Update can take
// the work back.
func released(t *testing.T, app *argocd.Application, w *workv1.ManifestWork, requests work.Requests, finalizer string) {
	t.Helper()
	untouched := w.DeepCopy()
	out, err := work.Release(w, app)
	if err != nil || !work.Released(out) || !equality.Semantic.DeepEqual(untouched, w) {
		t.Fatalf("released %v, %v:\n%s", work.Released(out), err, cmp.Diff(untouched, w))
	}
	held, ok := work.Carried(out)
	if !ok || len(held.Finalizers) > 0 || held.Name != app.Name || argocd.AnyMark(held.Annotations) || argocd.AnyMark(held.Labels) {
		t.Errorf("what is released is %+v", held)
	}
	if work.Released(w) && finalizer != "" {
		t.Error("it counts as released before")
	}
	twice, err := work.Release(stored(t, out), app)
	if err != nil || !work.SameSpec(&twice.Spec, &out.Spec) {
		t.Errorf("released twice it differs, %v:\n%s", err, cmp.Diff(out.Spec, twice.Spec))
	}
	back, changed := work.Update(stored(t, out), mustRender(t, app, requests))
	if !changed || work.Released(back) || !work.SameSpec(&back.Spec, &w.Spec) ||
		back.Labels["others"] != "label" || back.Annotations["others"] != "annotation" {
		t.Errorf("it is not taken back:\n%s", cmp.Diff(w, back))
	}
}

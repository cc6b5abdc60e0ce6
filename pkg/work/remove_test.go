package work_test

import (
	"encoding/json"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// earlier changes the Application in a work to the form of an earlier version.
func earlier(t *testing.T, w *workv1.ManifestWork, edit func(held *argocd.Application)) {
	t.Helper()
	held := payloadOf(t, w)
	edit(held)
	raw, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	w.Spec.Workload.Manifests[0].Raw = raw
}

// TestRemovable: the cluster's Application is removed as the hub's finalizers request, for every earlier state of the
// work.
func TestRemovable(t *testing.T) {
	const background, mine = apis.FinalizerResources + "/background", "example.com/mine"
	for title, tc := range map[string]struct {
		has, wants []string
		released   bool
		changed    bool
	}{
		"as it is":            {has: []string{apis.FinalizerResources}, wants: []string{apis.FinalizerResources}},
		"none":                {changed: true}, // others may have added a finalizer, so the work asks the cluster
		"with that of others": {has: []string{mine}, changed: true},
		"beside that of others": {
			has: []string{mine, apis.FinalizerResources}, wants: []string{apis.FinalizerResources}, changed: true},
		"pre-delete": {
			has: []string{apis.FinalizerPreDelete, apis.FinalizerResources}, wants: []string{apis.FinalizerResources}, changed: true},
		"post-delete alone": {has: []string{apis.FinalizerPostDelete}, wants: []string{apis.FinalizerPostDelete}, changed: true},
		"lost on the hub":   {has: []string{mine, apis.FinalizerResources}, changed: true},
		"of another form":   {has: []string{apis.FinalizerResources}, wants: []string{background}, changed: true},
		"new on the hub":    {wants: []string{apis.FinalizerResources}, changed: true},
		"released":          {has: []string{mine, background}, wants: []string{background}, released: true, changed: true},
	} {
		t.Run(title, func(t *testing.T) {
			w := render(t, fixture.Application("guestbook"))
			earlier(t, w, func(held *argocd.Application) { held.Finalizers = tc.has })
			if tc.released {
				var err error
				if w, err = work.Release(w, nil); err != nil {
					t.Fatal(err)
				}
			}
			out, changed := work.PrepareRemoval(w, tc.wants)
			if changed != tc.changed || out.Spec.DeleteOption != nil {
				t.Fatalf("changed: %t, %+v", changed, out.Spec.DeleteOption)
			}
			raw := string(out.Spec.Workload.Manifests[0].Raw)
			for _, f := range []string{apis.FinalizerResources + `"`, background + `"`} {
				wants := len(tc.wants) > 0 && tc.wants[0]+`"` == f
				if strings.Contains(raw, f) != wants {
					t.Errorf("%s: %s", f, raw)
				}
			}
			if strings.Contains(raw, mine) || strings.Contains(raw, apis.FinalizerPreDelete) {
				t.Errorf("nobody takes its finalizers off there: %s", raw)
			}
			if _, again := work.PrepareRemoval(out, tc.wants); again {
				t.Error("it never ends")
			}
		})
	}
}

// TestReleaseOfARequestWithoutAnApplication: without an Application on the hub, the cluster's Application loses only
// the mark of ownership.
func TestReleaseOfARequestWithoutAnApplication(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers(apis.FinalizerResources).Obj()
	w, err := work.Render(app, work.Requests{Stored: relay.Stored{Last: relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7"}}})
	if err == nil {
		err = work.Carry(w, app, work.Request{Operation: json.RawMessage(`{"sync":{}}`), Version: "7"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := work.PrepareRemoval(w, nil); changed {
		t.Error("what is carried is no Application to take finalizers off")
	}
	out, err := work.Release(w, nil)
	if err != nil || !work.Released(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	const name = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook","namespace":"argocd"}}`
	if raw := string(out.Spec.Workload.Manifests[0].Raw); raw != name {
		t.Errorf("it carries %s", raw)
	}
	if manager := out.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply.FieldManager; manager == workv1.DefaultFieldManager {
		t.Error("by that manager it would take everything away that it had brought")
	}
	w.Spec.ManifestConfigs = nil
	if _, err := work.Release(w, nil); err == nil {
		t.Error("it would be applied in another way")
	}
}

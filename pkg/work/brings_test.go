package work_test

import (
	"encoding/json"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// TestStillBrings: a work still brings its Application until the Application changes on the hub. A new target alone
// is not a change.
func TestStillBrings(t *testing.T) {
	app := func() *fixture.ApplicationBuilder {
		return fixture.Application("guestbook").Finalizers(apis.FinalizerResources)
	}
	carrying := func(w *workv1.ManifestWork) {
		last := relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7", Digest: "d", Instead: work.Brings(w)}
		if err := work.Carry(w, app().Obj(), work.Request{Operation: []byte(`{"sync":{}}`), Version: "7"}); err != nil {
			t.Fatal(err)
		}
		w.Annotations[apis.AnnotationRequestSent] = last.String()
	}
	for title, tc := range map[string]struct {
		work func(*workv1.ManifestWork)
		app  *fixture.ApplicationBuilder
		want bool
	}{
		"an unchanged Application":       {carrying, app(), true},
		"a new namespace on the cluster": {carrying, app().Annotation(apis.AnnotationAppNamespace, "new"), true},
		"a new spec":                     {carrying, app().Spec(`{"project":"other"}`), false},
		"a new label":                    {carrying, app().Label("x", "y"), false},
		"no finalizers":                  {carrying, fixture.Application("guestbook"), false},
		"an invalid spec":                {carrying, app().Spec(`[]`), false},
		"no request":                     {func(*workv1.ManifestWork) {}, app(), true},
		"as an API server returns it":    {indented, app(), true},
		"a request without a digest of the Application": {func(w *workv1.ManifestWork) {
			carrying(w)
			w.Annotations[apis.AnnotationRequestSent] = "sent 1-a 7 d"
		}, app(), false},
		"an unreadable manifest": {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(`{`) }, app(), false},
		"no manifest":            {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = nil }, app(), false},
	} {
		w := render(t, app())
		tc.work(w)
		if got := work.StillBrings(w, tc.app.Obj()); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

// indented reformats the JSON of the manifest without a change of the content.
func indented(w *workv1.ManifestWork) {
	raw := &w.Spec.Workload.Manifests[0].Raw
	var value any
	if err := json.Unmarshal(*raw, &value); err != nil {
		panic(err)
	}
	*raw, _ = json.MarshalIndent(value, "", " ")
}

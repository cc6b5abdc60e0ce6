package work_test

import (
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// TestTerminating: a work sends the termination to the place where the work brought the Application. A changed
// Application on the hub or an edit of the work by the cluster does not change the place.
func TestTerminating(t *testing.T) {
	app := fixture.Application("guestbook").Namespace("apps").Cluster("elsewhere").Obj()
	there := relay.Cluster{StartedAt: "2026-01-02T03:04:05Z", Version: "7"}
	for title, edit := range map[string]func(*workv1.ManifestWork){
		"as it was made":     func(*workv1.ManifestWork) {},
		"asks":               func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.Apply) },
		"without a strategy": func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].UpdateStrategy = nil },
		"without manifests":  func(w *workv1.ManifestWork) { w.Annotations, w.Spec.Workload.Manifests = nil, nil },
	} {
		t.Run(title, func(t *testing.T) {
			w, err := work.Render(fixture.Application("guestbook").Namespace("apps").Cluster("here").Obj(), work.Requests{})
			if err != nil {
				t.Fatal(err)
			}
			w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace = "there"
			edit(w)
			out, err := work.Terminating(w, app, there)
			if err != nil {
				t.Fatal(err)
			}
			raw := string(out.Spec.Workload.Manifests[0].Raw)
			for _, part := range []string{`"namespace":"there"`, `"resourceVersion":"7"`, `"phase":"Terminating"`} {
				if !strings.Contains(raw, part) {
					t.Errorf("no %s in %s", part, raw)
				}
			}
			if s := out.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply; !s.Force || s.FieldManager != "work-agent-termination" {
				t.Errorf("applied by %+v", s)
			}
			want := relay.Sent{State: relay.OnItsWay, ID: relay.TerminationID(there.StartedAt), Version: "7", Instead: work.Brings(w)}
			if got := work.Sent(out).Last; got != want {
				t.Errorf("it remembers %+v", got)
			}
		})
	}
	nothing := &workv1.ManifestWork{}
	if out, err := work.Terminating(nothing, app, there); out != nothing || err != nil {
		t.Errorf("a work that says nothing: %+v, %v", out, err)
	}
}

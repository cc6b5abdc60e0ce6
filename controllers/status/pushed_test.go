package status

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
)

// pushedStatus is the status that an Argo CD of the hub leaves on an Application after a deployment.
const pushedStatus = `{"health":{"status":"Healthy"},"observedAt":"2026-01-01T00:00:00Z","resourceHealthSource":"appTree","sourceType":"Helm",
	"sync":{"status":"Synced","revision":"old","comparedTo":{"destination":{"name":"cluster1"},"source":{"repoURL":"r"}}},
	"operationState":{"operation":{"sync":{"revision":"old"}},"phase":"Succeeded","startedAt":"2026-01-01T00:00:00Z",
		"syncResult":{"revision":"old","source":{"repoURL":"r"}}},
	"resources":[{"kind":"Service","name":"s","version":"v1"}],"summary":{"images":["a"]}}`

// TestPushed: the first report of the cluster removes the remains of the hub's Argo CD. Later reports change nothing.
func TestPushed(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	if err := json.Unmarshal([]byte(pushedStatus), &app.Status); err != nil {
		t.Fatal(err)
	}
	if kept := merge(&app.Status, nil, nil, metav1.Now()); !kept.Pushed || len(kept.Resources) == 0 {
		t.Error("it goes before the cluster has reported")
	}
	facts := &observed.Facts{Complete: true, Status: argocd.Status{
		Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "Synced", Revision: "new"}, SourceType: "Kustomize",
		OperationState: &argocd.OperationState{Phase: "Succeeded", StartedAt: "2026-01-02T00:00:00Z", SyncResult: &argocd.SyncResult{Revision: "new"}},
	}}
	got := merge(&app.Status, facts, nil, metav1.Now())
	patch, err := diff(app, got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"observedAt":null,"operationState":{"operation":{"sync":{"revision":null}},"startedAt":"2026-01-02T00:00:00Z",` +
		`"syncResult":{"managedNamespaceMetadata":null,"revision":"new","source":null,"sources":null}},"resourceHealthSource":null,` +
		`"resources":null,"sourceType":"Kustomize","summary":null,"sync":{"comparedTo":null,"revision":"new"}}`
	if diff := cmp.Diff(decoded(t, want), decoded(t, string(patch.Status))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	app.Status = got
	if again := merge(&app.Status, facts, nil, metav1.Now()); again.Pushed {
		t.Error("it counts as pushed for ever")
	}
}

func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestForgetResources: in a new place the resources are unknown until the first report. Resources reported by an agent
// stay.
func TestForgetResources(t *testing.T) {
	reported := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	reported.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{}}
	for title, tc := range map[string]struct {
		facts *observed.Facts
		w     *workv1.ManifestWork
		want  int
	}{
		"a new work":           {nil, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, 0},
		"no work":              {nil, &workv1.ManifestWork{}, 1},
		"a work with a report": {nil, reported, 1},
		"known by a source":    {&observed.Facts{}, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, 1},
	} {
		s := argocd.Status{Resources: []argocd.ResourceStatus{{Kind: "Service", Name: "s"}}, Summary: &argocd.Summary{}}
		if forgetResources(&s, tc.facts, tc.w); len(s.Resources) != tc.want {
			t.Errorf("%s: %d resources", title, len(s.Resources))
		}
	}
}

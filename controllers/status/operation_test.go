package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

const (
	began     = "2026-01-02T03:04:05Z"
	requested = `{"initiatedBy":{"username":"kargo","automated":true},"info":[{"name":"kargo.akuity.io/promotion","value":"p1"},` +
		`{"name":"` + apis.OperationInfo + `","value":"1-a"}],"sync":{"revisions":[],"syncOptions":["CreateNamespace=true"]}}`
)

// TestShowOperation: the hub shows an operation in its requested form, and a sync with its revision.
func TestShowOperation(t *testing.T) {
	asked := argocd.Operation{
		InitiatedBy: &argocd.Initiator{Username: "kargo", Automated: true},
		Info:        []argocd.Info{{Name: "kargo.akuity.io/promotion", Value: "p1"}, {Name: apis.OperationInfo, Value: "1-a"}},
		Sync:        argocd.SyncOperation{Revision: "abc", SyncOptions: []string{"CreateNamespace=true"}},
	}
	ended := argocd.OperationState{Phase: "Succeeded", StartedAt: began, FinishedAt: began, SyncResult: &argocd.SyncResult{Revision: "abc"}}
	automated := ended
	automated.Operation.InitiatedBy = &argocd.Initiator{Automated: true}
	several := ended
	several.SyncResult = &argocd.SyncResult{Revisions: []string{"a", "b"}}
	shown, earlier, byAgent := ended, ended, ended
	shown.Operation, earlier.Operation = asked, asked
	earlier.StartedAt = "2026-01-01T00:00:00Z"
	byAgent.Operation.Info = []argocd.Info{{Name: apis.OperationInfo, Value: "1-a"}}
	unresolved := asked
	unresolved.Sync.Revision, unresolved.Sync.Revisions = "", []string{}
	shownRunning := ended
	shownRunning.Operation = unresolved
	running := func(revision string) (o argocd.OperationState) {
		o.Phase, o.StartedAt = "Running", began
		o.SyncResult = &argocd.SyncResult{Revision: revision}
		return o
	}
	former, resolved, repeated := running("abc"), running("new"), running("abc")
	former.Phase, former.StartedAt = "Succeeded", began // operations of less than a second begin at the same time
	resolved.Operation.Sync.Revision = "new"
	at := func(revision string) argocd.Operation {
		return argocd.Operation{Sync: argocd.SyncOperation{Revision: revision}}
	}
	for title, tc := range map[string]struct {
		taken string // by the work agent
		asks  bool
		shown *argocd.OperationState
		there argocd.OperationState
		want  argocd.Operation
	}{
		"automated": {there: automated, want: argocd.Operation{InitiatedBy: &argocd.Initiator{Automated: true},
			Sync: argocd.SyncOperation{Revision: "abc"}}},
		"of several sources":             {there: several, want: argocd.Operation{Sync: argocd.SyncOperation{Revisions: []string{"a", "b"}}}},
		"asked for, and taken":           {taken: "1-a", asks: true, there: ended, want: asked},
		"asked for before":               {taken: "1-a", shown: &shown, there: ended, want: asked},
		"by the agent's report":          {shown: &shown, there: byAgent, want: asked},
		"asked for, and running":         {taken: "1-a", asks: true, shown: &former, there: running("new"), want: unresolved},
		"ended, and shown as running":    {taken: "1-a", shown: &shownRunning, there: ended, want: asked},
		"of an earlier operation":        {taken: "1-a", shown: &earlier, there: ended, want: at("abc")},
		"another one has been taken":     {taken: "2-b", shown: &shown, there: ended, want: at("abc")},
		"running":                        {shown: &former, there: running("new"), want: at("new")},
		"running with the former result": {shown: &former, there: running("abc"), want: at("")},
		"running, shown with its result": {shown: &resolved, there: running("new"), want: at("new")},
		"running, its result comes":      {shown: &repeated, there: running("new"), want: at("new")},
		"running, nothing shown":         {there: running("new"), want: at("")},
		"running, without a result":      {shown: &former, there: argocd.OperationState{Phase: "Running", StartedAt: began}, want: at("")},
	} {
		t.Run(title, func(t *testing.T) {
			b := fixture.Application("guestbook")
			if tc.asks {
				b.Operation(requested)
			}
			app := b.Obj()
			app.Status.OperationState = tc.shown
			w, err := work.Render(app, work.Requests{})
			if err != nil {
				t.Fatal(err)
			}
			report := fixture.Feedback(work.Identifier(app)).String("operationStatePhase", "Succeeded").String("operationStateStartedAt", began)
			if tc.taken != "" {
				report.String("operationTaken", tc.taken)
			}
			w.Status = report.Obj()
			got := showOperation(app, w, &tc.there)
			if got == nil {
				t.Fatal("it is not shown")
			}
			if diff := cmp.Diff(tc.want, got.Operation); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSupersedes: a user removes the old operation from the status and requests a new one in one write. Until the new
// operation begins, the end of the old operation is not shown again.
func TestSupersedes(t *testing.T) {
	ended := &argocd.OperationState{Phase: "Succeeded", StartedAt: began}
	delivered := relay.Sent{State: relay.Delivered, ID: "1-a", Version: "1"}
	for title, tc := range map[string]struct {
		asks           bool
		shown, there   *argocd.OperationState
		sent           relay.Sent
		taken, pending string
		version        string
		want           bool
	}{
		"nobody asks":                  {there: ended},
		"asked for":                    {asks: true, there: ended, want: true},
		"asked for, nothing taken off": {asks: true, shown: ended, there: ended},
		"asked for while another runs": {asks: true, there: &argocd.OperationState{Phase: "Running", StartedAt: began}},
		"it has begun":                 {asks: true, there: ended, taken: "1-a"},
		"delivered, not seen yet":      {asks: true, there: ended, sent: delivered, version: "1", want: true},
		"delivered, it waits":          {asks: true, there: ended, sent: delivered, version: "2", pending: "1-a", want: true},
		"delivered, another one since": {asks: true, there: ended, sent: delivered, version: "2"},
	} {
		t.Run(title, func(t *testing.T) {
			b := fixture.Application("guestbook")
			if tc.asks {
				b.Operation(requested)
			}
			app := b.Obj()
			app.Status.OperationState = tc.shown
			w, err := work.Render(app, work.Requests{Stored: relay.Stored{Last: tc.sent}})
			if err != nil {
				t.Fatal(err)
			}
			report := fixture.Feedback(work.Identifier(app)).String("resourceVersion", tc.version)
			for name, value := range map[string]string{"operationTaken": tc.taken, "operationPending": tc.pending} {
				if value != "" {
					report.String(name, value)
				}
			}
			w.Status = report.Obj()
			if got := showOperation(app, w, tc.there) == nil; got != tc.want {
				t.Errorf("left out: %t", got)
			}
		})
	}
}

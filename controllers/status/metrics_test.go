package status

import (
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// TestOperationEnd: each operation counts once, when the hub first sees the end.
func TestOperationEnd(t *testing.T) {
	const began, ended = "2026-01-02T03:04:05Z", "2026-01-02T03:04:35Z"
	state := func(phase, startedAt, finishedAt string) *argocd.OperationState {
		return &argocd.OperationState{Phase: phase, StartedAt: startedAt, FinishedAt: finishedAt}
	}
	running, done := state("Running", began, ""), state("Succeeded", began, ended)
	dry := state("Failed", began, ended)
	dry.Operation.Sync.DryRun = true
	automated := state("Error", began, ended)
	automated.Operation.InitiatedBy = &argocd.Initiator{Automated: true}
	for title, tc := range map[string]struct {
		before, after *argocd.OperationState
		kind          string
		took          time.Duration
		ended         bool
	}{
		"no operation":        {},
		"a running operation": {nil, running, "", 0, false},
		"an ended operation":  {running, done, "sync", 30 * time.Second, true},
		"an operation that began and ended between two reports": {state("Succeeded", "2026-01-02T03:00:00Z", ended), done, "sync", 30 * time.Second, true},
		"an operation that was counted before":                  {done, done, "", 0, false},
		"an operation that was removed":                         {done, nil, "", 0, false},
		"a dry run":                                             {running, dry, "dry-run", 30 * time.Second, true},
		"an automated operation":                                {nil, automated, "automated-sync", 30 * time.Second, true},
		"without an end":                                        {running, state("Failed", began, ""), "sync", 0, true},
		"with an odd beginning":                                 {nil, state("Failed", "?", ended), "sync", 0, true},
		"that ended before it began":                            {nil, state("Failed", ended, began), "sync", 0, true},
		"in an unknown phase":                                   {running, state("Finished", began, ended), "", 0, false},
	} {
		t.Run(title, func(t *testing.T) {
			kind, took, ended := operationEnd(tc.before, tc.after)
			if kind != tc.kind || took != tc.took || ended != tc.ended {
				t.Errorf("got %q, %s, %t", kind, took, ended)
			}
		})
	}
}

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
)

// known is a status with every part that an observation may lack.
func known() argocd.Status {
	return argocd.Status{
		Health: argocd.Health{Status: "Degraded", Message: "why", LastTransitionTime: "2026-01-02T03:04:05Z"},
		Sync:   &argocd.Sync{Status: "OutOfSync", Revision: "a"},
		OperationState: &argocd.OperationState{
			Phase: "Failed", StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:07Z", Message: "it failed", RetryCount: 2,
			SyncResult: &argocd.SyncResult{Revision: "a"},
			Operation:  argocd.Operation{InitiatedBy: &argocd.Initiator{Username: "me"}, Sync: argocd.SyncOperation{DryRun: true}},
		},
	}
}

// TestMergeOfWhatCouldNotAllBeRead: what is not known now stays where it is still about the same state, and goes where
// it is not; a complete observation knows that it is not there.
func TestMergeOfWhatCouldNotAllBeRead(t *testing.T) {
	same := argocd.Status{
		Health:         argocd.Health{Status: "Degraded"},
		Sync:           &argocd.Sync{Status: "OutOfSync"},
		OperationState: &argocd.OperationState{Phase: "Failed", StartedAt: "2026-01-02T03:04:05Z"},
	}
	next := argocd.Status{
		Health:         argocd.Health{Status: "Healthy"},
		Sync:           &argocd.Sync{Status: "Synced"},
		OperationState: &argocd.OperationState{Phase: "Succeeded", StartedAt: "2026-01-02T04:04:05Z"},
	}
	for title, tc := range map[string]struct {
		facts *observed.Facts
		want  argocd.Status
	}{
		"nothing":                         {nil, known()},
		"the same state, in part":         {&observed.Facts{Status: same}, known()},
		"the same state, all of it":       {&observed.Facts{Status: same, Complete: true}, same},
		"another state, in part":          {&observed.Facts{Status: next}, next},
		"another state, all of it":        {&observed.Facts{Status: next, Complete: true}, next},
		"there is nothing on the cluster": {&observed.Facts{Complete: true}, argocd.Status{}},
	} {
		t.Run(title, func(t *testing.T) {
			current := known()
			got := merge(&current, tc.facts, nil, metav1.Now())
			got.Conditions = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(known(), current); diff != "" {
				t.Errorf("what was known is changed in place:\n%s", diff)
			}
		})
	}
}

// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"bytes"
	"encoding/json"
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

func TestCodesOfASyncAreArgoCDs(t *testing.T) {
	same(t, "result codes", list(t, "pkg/apis/argocd/operation.go", "ResultCodes"), []string{
		string(synccommon.ResultCodeSynced), string(synccommon.ResultCodeSyncFailed),
		string(synccommon.ResultCodePruned), string(synccommon.ResultCodePruneSkipped),
	})
	same(t, "hook types", list(t, "pkg/apis/argocd/operation.go", "HookTypes"), []string{
		string(synccommon.HookTypePreSync), string(synccommon.HookTypeSync), string(synccommon.HookTypePostSync),
		string(synccommon.HookTypeSyncFail), string(synccommon.HookTypeSkip),
	})
}

// TestArgoCDReadsTheDetail decodes the parts of a status from an agent's report with Argo CD's own types, and fails on
// an unknown field.
func TestArgoCDReadsTheDetail(t *testing.T) {
	const status = `{"resources":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"a","name":"b","status":"Synced",
		"health":{"status":"Healthy","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"},"hook":true,"requiresPruning":true,"syncWave":-1}],
		"summary":{"externalURLs":["https://a"],"images":["b"]},
		"operationState":{"operation":{"initiatedBy":{"username":"a","automated":true}},"phase":"Succeeded","message":"m",
		 "startedAt":"2026-01-02T03:04:05Z","finishedAt":"2026-01-02T03:04:05Z","retryCount":1,"syncResult":{"revision":"a","revisions":["b"],
		 "resources":[{"group":"","version":"v1","kind":"Job","namespace":"a","name":"b","status":"Synced","message":"m","hookType":"PreSync",
		  "hookPhase":"Succeeded","syncPhase":"PreSync"}]}},
		"history":[{"id":1,"revision":"a","revisions":["b"],"deployStartedAt":"2026-01-02T03:04:05Z","deployedAt":"2026-01-02T03:04:05Z",
		 "initiatedBy":{"username":"a"},"source":{"repoURL":"a","path":"b","targetRevision":"c","chart":"d","ref":"e"},"sources":[{"repoURL":"a"}]}]}`
	decoder := json.NewDecoder(bytes.NewReader([]byte(status)))
	decoder.DisallowUnknownFields()
	var got v1alpha1.ApplicationStatus
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Resources[0].SyncWave != -1 || got.OperationState.SyncResult.Resources[0].HookPhase != synccommon.OperationSucceeded ||
		got.History[0].Source.TargetRevision != "c" {
		t.Errorf("got %+v", got)
	}
}

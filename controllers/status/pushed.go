package status

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
)

// withoutPushed returns a merge patch of a status that also removes the fields from an Argo CD of the hub that Towline
// does not know: the subjects of the comparison and of the last sync.
func withoutPushed(change []byte, status *argocd.Status) ([]byte, error) {
	gone := map[string]any{"observedAt": nil, "resourceHealthSource": nil}
	if status.Sync != nil {
		gone["sync"] = map[string]any{"comparedTo": nil}
	}
	if o := status.OperationState; o != nil && o.SyncResult != nil {
		gone["operationState"] = map[string]any{"syncResult": map[string]any{"source": nil, "sources": nil, "managedNamespaceMetadata": nil}}
	}
	patch, err := json.Marshal(gone)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergeMergePatches(patch, change)
}

// forgetResources drops the resources of an Application's previous place. The work in the new place is new, and no
// source has facts about it yet.
func forgetResources(status *argocd.Status, facts *observed.Facts, w *workv1.ManifestWork) {
	if facts == nil && w.Name != "" && len(w.Status.ResourceStatus.Manifests) == 0 {
		status.Resources, status.Summary = nil, nil
	}
}

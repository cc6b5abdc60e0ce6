package work

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Brings is the digest of the Application that a work brings, also while it carries a request in the place of that; empty
// where it is not known.
func Brings(w *workv1.ManifestWork) string {
	if CarriesRequest(w) {
		return Sent(w).Last.Instead
	}
	return digest(w.Spec.Workload.Manifests)
}

// StillBrings tells whether the Application, where the work has brought it, is just what the work brings: to put it back
// changes nothing on the cluster.
func StillBrings(w *workv1.ManifestWork, app *argocd.Application) bool {
	before := Brings(w)
	if before == "" {
		return false
	}
	now, err := Render(At(app, w), Requests{})
	return err == nil && digest(now.Spec.Workload.Manifests) == before
}

// digest tells manifests apart by what they mean: an API server returns them with other bytes. It is empty for what cannot
// be read, and for anything but one manifest.
func digest(manifests []workv1.Manifest) string {
	if len(manifests) != 1 {
		return ""
	}
	value, err := decode(manifests[0].Raw)
	if err != nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

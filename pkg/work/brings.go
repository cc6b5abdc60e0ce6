package work

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Brings returns the digest of the Application in a work, or an empty string if the digest is unknown. For a work
// with a request, Brings returns the digest of the Application that the request has replaced.
func Brings(w *workv1.ManifestWork) string {
	if CarriesRequest(w) {
		return Sent(w).Last.Instead
	}
	return digest(w.Spec.Workload.Manifests)
}

// StillBrings reports whether the hub's Application, at the target of the work, still equals the Application in the
// work. If so, a write of the Application back into the work changes nothing on the cluster.
func StillBrings(w *workv1.ManifestWork, app *argocd.Application) bool {
	before := Brings(w)
	if before == "" {
		return false
	}
	now, err := Render(ApplicationOn(app, w), Requests{})
	return err == nil && digest(now.Spec.Workload.Manifests) == before
}

// digest returns a hash of the content of a manifest, because an API server returns the same content with other
// bytes. The hash is empty for an unreadable manifest, and for any other number of manifests than 1.
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

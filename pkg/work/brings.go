package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
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

// digest returns the digest of the only manifest; empty for any other number of manifests than 1.
func digest(manifests []workv1.Manifest) string {
	if len(manifests) != 1 {
		return ""
	}
	return payload.Digest(manifests[0].Raw)
}

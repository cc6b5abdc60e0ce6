package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/payload"
)

// Unmark removes the marks of the hub's controllers (argocd.IsMark) from the manifests of a work. An earlier version
// of Towline sent the marks. others are the keys of further labels with the role of a mark on this hub. Unmark does
// not change an unreadable manifest.
func Unmark(w *workv1.ManifestWork, others ...string) {
	for i := range w.Spec.Workload.Manifests {
		if raw, err := payload.Unmark(w.Spec.Workload.Manifests[i].Raw, others); err == nil {
			w.Spec.Workload.Manifests[i].Raw = raw
		}
	}
}

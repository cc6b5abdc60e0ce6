package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// ReadsThroughHub returns whether the cluster of a work may read the Application's repositories through the hub.
func ReadsThroughHub(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationSources] != "" }

// CloseSources ends the right of a cluster to read the Application's repositories through the hub, and reports whether
// the work had to change. The content of the work stays.
func CloseSources(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !ReadsThroughHub(w) {
		return w, false
	}
	out := w.DeepCopy()
	delete(out.Annotations, apis.AnnotationSources)
	return out, true
}

package work

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// HandOver changes a work prepared by PrepareRemoval for an Application that the hub's own Argo CD deploys from now on.
// The cluster's Argo CD stops automated deployment. HandOver returns the work itself if the work needs no change.
func HandOver(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	out, changed := Freeze(w)
	if HandedOver(out) {
		return out, changed
	}
	if !changed {
		out = w.DeepCopy()
	}
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, apis.AnnotationHandedOver, "true")
	return out, true
}

// HandedOver reports whether a work has the annotation from HandOver.
func HandedOver(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationHandedOver] != "" }

// DependenciesStay reports whether the dependencies of a work's Applications stay on the cluster after the deletion of the work.
func DependenciesStay(w *workv1.ManifestWork) bool { return Released(w) || HandedOver(w) }

package work

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// HandOver is a work that Removable has prepared, changed for an Application that the hub's own Argo CD deploys from now on. The
// cluster's Argo CD deploys nothing new by itself. It returns the work itself where nothing had to change.
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

// HandedOver tells whether a work says what HandOver makes of it.
func HandedOver(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationHandedOver] != "" }

// Stays tells whether the dependencies of the Applications of a work stay on the cluster when the work goes.
func Stays(w *workv1.ManifestWork) bool { return Released(w) || HandedOver(w) }

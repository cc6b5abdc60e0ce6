package work

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Carries tells whether an existing work of an Application's name may be taken for the Application's own: a pull
// controller marked it, or it holds an Application of that name. Works of the first pull controllers have no
// mark at all; a work that fails both was made by someone else, for something else.
func Carries(w *workv1.ManifestWork, app *argocd.Application) bool {
	if w.Labels[apis.LabelPull] != "" || w.Annotations[apis.AnnotationHubName] != "" {
		return true
	}
	for _, m := range w.Spec.Workload.Manifests {
		var held metav1.PartialObjectMetadata
		if json.Unmarshal(m.Raw, &held) == nil && held.Kind == argocd.Kind && held.Name == app.Name &&
			held.GroupVersionKind().Group == argocd.GroupVersion.Group {
			return true
		}
	}
	return false
}

package work

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
)

// Carries tells whether an existing work of an Application's name may be taken for the Application's own: a pull
// controller marked it, or it holds an Application of that name. Works of the first pull controllers have no
// mark at all; a work that fails both was made by someone else, for something else.
func Carries(w *workv1.ManifestWork, app *argocd.Application) bool {
	if w.Labels[apis.LabelPull] != "" || w.Annotations[apis.AnnotationHubName] != "" {
		return true
	}
	return holds(w, func(held *argocd.Application) bool { return held.Name == app.Name })
}

// HubApplication is the hub Application that a work's annotations name, and whether they name one. They are the cluster's to
// change: good for finding whom to look at, and for nothing else.
func HubApplication(w metav1.Object) (types.NamespacedName, bool) {
	a := w.GetAnnotations()
	key := types.NamespacedName{Namespace: a[apis.AnnotationHubNamespace], Name: a[apis.AnnotationHubName]}
	return key, key.Namespace != "" && key.Name != ""
}

// CarriesTo tells whether a work carries an Application to that namespace and name of its cluster.
func CarriesTo(w *workv1.ManifestWork, key types.NamespacedName) bool {
	return holds(w, func(held *argocd.Application) bool { return held.Name == key.Name && held.Namespace == key.Namespace })
}

// Targets are the namespaces and names of its cluster to which a work carries Applications.
func Targets(w *workv1.ManifestWork) (out []types.NamespacedName) {
	for _, m := range w.Spec.Workload.Manifests {
		if held := manifests.Get(m.Raw, readManifest); held != nil {
			out = append(out, types.NamespacedName{Namespace: held.Namespace, Name: held.Name})
		}
	}
	return out
}

// Carried is the Application that a work carries, its metadata and its spec, and whether it carries one: not a request, and
// nothing that cannot be read. It is shared: nobody changes it.
func Carried(w *workv1.ManifestWork) (*argocd.Application, bool) {
	for _, m := range w.Spec.Workload.Manifests {
		if held := manifests.Get(m.Raw, readManifest); held != nil && len(held.Spec.Raw) > 0 {
			return held, true
		}
	}
	return nil, false
}

// holds tells whether one of the Applications among a work's manifests is the one that is looked for.
func holds(w *workv1.ManifestWork, wanted func(*argocd.Application) bool) bool {
	return slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1.Manifest) bool {
		held := manifests.Get(m.Raw, readManifest)
		return held != nil && wanted(held)
	})
}

// manifests are those that were read.
var manifests memo.Texts[*argocd.Application]

// readManifest is what a manifest says of an Application, its metadata and its spec; nil where it is not one that can be read.
func readManifest(raw []byte) *argocd.Application {
	var held struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              runtime.RawExtension `json:"spec"`
	}
	if json.Unmarshal(raw, &held) != nil || held.Kind != argocd.Kind || held.GroupVersionKind().Group != argocd.GroupVersion.Group {
		return nil
	}
	return &argocd.Application{TypeMeta: held.TypeMeta, ObjectMeta: held.ObjectMeta, Spec: held.Spec}
}

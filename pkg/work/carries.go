package work

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
)

// Carries reports whether an existing work with the name of an Application's work may be used for the Application. A
// pull controller has marked the work, or the work holds an Application with the same name. Works of the first pull
// controllers have no mark at all. A work that fails both checks comes from a foreign author and serves a foreign
// purpose.
func Carries(w *workv1.ManifestWork, app *argocd.Application) bool {
	if w.Labels[apis.LabelPull] != "" || w.Annotations[apis.AnnotationHubName] != "" {
		return true
	}
	return slices.ContainsFunc(Targets(w), func(t types.NamespacedName) bool { return t.Name == app.Name })
}

// HubApplication returns the key of the hub Application from a work's annotations, and whether the annotations have a
// key. The cluster can change the annotations. Use the key only to find the Application to reconcile.
func HubApplication(w metav1.Object) (types.NamespacedName, bool) {
	a := w.GetAnnotations()
	key := types.NamespacedName{Namespace: a[apis.AnnotationHubNamespace], Name: a[apis.AnnotationHubName]}
	return key, key.Namespace != "" && key.Name != ""
}

// CarriesTo reports whether a work carries an Application to the given namespace and name on its cluster.
func CarriesTo(w *workv1.ManifestWork, key types.NamespacedName) bool {
	return slices.Contains(Targets(w), key)
}

// Targets returns the namespaces and names, on the cluster, of the Applications in a work.
func Targets(w *workv1.ManifestWork) (out []types.NamespacedName) {
	for _, m := range w.Spec.Workload.Manifests {
		if held := payload.Read(m.Raw); held != nil {
			out = append(out, types.NamespacedName{Namespace: held.Namespace, Name: held.Name})
		}
	}
	return out
}

// Carried returns the Application in a work, with metadata and spec, and whether the work has an Application. A
// request and an unreadable manifest do not count. The returned object is shared: callers must not change the object.
func Carried(w *workv1.ManifestWork) (*argocd.Application, bool) {
	for _, m := range w.Spec.Workload.Manifests {
		if held := payload.Read(m.Raw); held != nil && len(held.Spec.Raw) > 0 {
			return held, true
		}
	}
	return nil, false
}

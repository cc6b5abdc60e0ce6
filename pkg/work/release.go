package work

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
)

// Release returns a copy of the work whose deletion leaves everything on the cluster. The cluster's Application loses
// its finalizers, so a later deletion removes no workload. The Application also loses the work's mark of ownership:
// the owner reference to the AppliedManifestWork. The marks of the hub's controllers (argocd.IsMark), sent by an
// earlier version of Towline, are removed too. Release returns an error for a work without a readable Application.
//
// An Application that reads through the hub gets the addresses of the repositories from app. Without the hub's
// Application, or for a repository that the hub does not know any more, the address of the cluster's agent stays.
//
// In a work with a request, the hub's Application app replaces the request. A nil app means: the hub has no
// Application any more. The cluster's Application then loses only the mark of ownership.
//
// After the agent (v1.2.0) has applied the result, the deletion of the work skips objects without the mark of
// ownership.
func Release(w *workv1.ManifestWork, app *argocd.Application) (*workv1.ManifestWork, error) {
	out := w.DeepCopy()
	if app != nil {
		app = app.ReadingAt("")
	}
	if CarriesRequest(w) {
		if err := bringBack(out, ofHub(app), nameOnly); err != nil {
			return nil, err
		}
	}
	if err := readDirectly(out, app); err != nil {
		return nil, err
	}
	if err := setFinalizers(out, nil, setFinalizersRule(out, false)); err != nil {
		return nil, err
	}
	Unmark(out) // a controller may delete an object by its mark, and the Application is to stay for good
	switch r := ReportOf(w); {
	case r.RefusedForEdit():
		SetUpdateMode(out, ForceApply)
	case r.mode == ReadOnly, r.Conflicts() != "":
		SetUpdateMode(out, CreateOnly) // Towline must not change an Application of another owner
	case r.mode == Apply && r.outcome == metav1.ConditionTrue && w.Spec.DeleteOption == nil:
		SetUpdateMode(out, ForceApply) // the Application is Towline's: a conflict must not prevent the release
	}
	out.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return out, nil
}

// Released reports whether a work has the form that Release gives.
func Released(w *workv1.ManifestWork) bool {
	if w.Spec.DeleteOption == nil || w.Spec.DeleteOption.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan {
		return false
	}
	if CarriesRequest(w) || ReadsThroughHub(w) || ReportsFinalizers(w) || IsReadOnly(w) && !Disabled(w) || ReportOf(w).Conflicts() != "" {
		return false
	}
	return !slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1.Manifest) bool { return !payload.Unmarked(m.Raw) })
}

// ApplicationOn returns the Application with the cluster and namespace of the work as its target. The result shares everything
// except the annotations with app.
func ApplicationOn(app *argocd.Application, w *workv1.ManifestWork) *argocd.Application {
	there := *app
	there.Annotations = maps.Clone(app.Annotations)
	metav1.SetMetaDataAnnotation(&there.ObjectMeta, apis.AnnotationCluster, w.Namespace)
	if namespace := Resource(w).Namespace; namespace != "" {
		metav1.SetMetaDataAnnotation(&there.ObjectMeta, apis.AnnotationAppNamespace, namespace)
	}
	return &there
}

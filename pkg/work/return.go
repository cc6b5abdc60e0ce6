package work

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
)

// form is one way to replace the request in a work: form changes the work, and reports whether the way is open.
type form func(*workv1.ManifestWork) (bool, error)

// bringBack replaces the request in a work by the first possible form of the Application. The annotations about the
// request leave the work.
func bringBack(w *workv1.ManifestWork, forms ...form) error {
	for _, replace := range forms {
		switch is, err := replace(w); {
		case err != nil:
			return err
		case is:
			delete(w.Annotations, apis.AnnotationRequestSent)
			delete(w.Annotations, apis.AnnotationReplaced)
			return nil
		}
	}
	return errors.New("the Application of the ManifestWork is not known")
}

// stored is the Application that the request has replaced, from the annotation of the work.
func stored(w *workv1.ManifestWork) (bool, error) {
	_, raw := Replaced(w)
	if raw == nil {
		return false, nil
	}
	w.Spec.Workload.Manifests = append([]workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}, sideManifests(w)...)
	w.Spec.ManifestConfigs[0].UpdateStrategy = strategyOf(w)
	noteMode(w, ForceApply)
	return true, nil
}

// ofHub is the hub's Application, at the place where the work brought the Application. A nil app means: the hub has no
// Application any more, or the Application may not be sent.
func ofHub(app *argocd.Application) form {
	return func(w *workv1.ManifestWork) (bool, error) {
		if app == nil {
			return false, nil
		}
		full, err := Render(ApplicationOn(app, w), Requests{})
		if err != nil {
			return false, err
		}
		full.Spec.Executor = w.Spec.Executor
		if others := sideManifests(w); len(others) > 0 {
			full.Spec.Workload.Manifests = append(full.Spec.Workload.Manifests, others...)
			full.Spec.DeleteOption = w.Spec.DeleteOption
		}
		full.Spec.DeepCopyInto(&w.Spec)
		noteMode(w, ForceApply)
		return true, nil
	}
}

// unchangedOnHub is the hub's Application, if the request has replaced the same Application.
func unchangedOnHub(app *argocd.Application) form {
	return func(w *workv1.ManifestWork) (bool, error) {
		if !StillBrings(w, app) {
			return false, nil
		}
		return ofHub(app)(w)
	}
}

// nameOnly is a manifest with only the name of the Application. nameOnly returns an error if an edit has removed the
// configuration of how and where the Application is applied.
func nameOnly(w *workv1.ManifestWork) (bool, error) {
	if len(w.Spec.ManifestConfigs) != 1 || w.Spec.ManifestConfigs[0].UpdateStrategy == nil ||
		w.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply == nil {
		return false, errors.New("the ManifestWork does not say how its Application is applied")
	}
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	carryOnly(w, payload.NameOnly(types.NamespacedName{Namespace: id.Namespace, Name: id.Name}), releaseManager)
	return true, nil
}

// Withdrawn is PrepareRemoval for a work with a request. The current Application replaces the request, because the
// finalizers on the cluster are unknown. A nil app means: Towline may not send the Application to the cluster any
// more. The cluster's Application then only gets the finalizers. If the workload is to stay, Withdrawn releases the
// Application instead, because finalizers cannot be removed without the rest of the Application.
func Withdrawn(w *workv1.ManifestWork, app *argocd.Application, finalizers []string) (*workv1.ManifestWork, error) {
	if app == nil && !argocd.Destroys(finalizers) {
		return Release(w, nil)
	}
	out := w.DeepCopy()
	if err := bringBack(out, ofHub(app), nameOnly); err != nil {
		return nil, err
	}
	return out, setFinalForm(out, finalizers)
}

// FreezePutBack is Freeze for a work with a request that the agent has answered. The replaced Application replaces the
// request. last is the result of the request, and is stored in the work. If the work does not store the replaced
// Application, FreezePutBack changes the work only if the hub's Application is still the same.
func FreezePutBack(w *workv1.ManifestWork, app *argocd.Application, last relay.Sent) (*workv1.ManifestWork, bool) {
	out := w.DeepCopy()
	if bringBack(out, stored, unchangedOnHub(app)) != nil {
		return w, false
	}
	if sent := last.String(); sent != "" {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, apis.AnnotationRequestSent, sent)
	}
	if updated, changed := Freeze(out); changed {
		return updated, true
	}
	return out, true
}

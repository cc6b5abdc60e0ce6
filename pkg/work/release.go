package work

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Release is the work changed so that its deletion leaves everything on the cluster as it is: the Application there
// loses its finalizers, so that nothing cascades if someone deletes it later, the work's mark of ownership, and marks of
// the hub's controllers that an earlier version sent. It returns an error for a work that holds no readable Application. A
// work that carries a request gets app in its place, as it is on the hub; app may be nil when there is none any more, and
// then the Application there loses the mark of ownership alone.
//
// Once the agent (v1.2.0) has applied the result, the deletion of the work passes over what it does not own.
func Release(w *workv1.ManifestWork, app *argocd.Application) (*workv1.ManifestWork, error) {
	out := w.DeepCopy()
	if CarriesRequest(w) {
		if err := PutBack(out, app); err != nil {
			return nil, err
		}
	}
	if err := setFinalizers(out, nil, askLeft(out, false)); err != nil {
		return nil, err
	}
	revive(out)
	Unmark(out) // what stays on the cluster for good is not to go by a mark
	switch {
	case RefusedForEdit(w):
		SetUpdateMode(out, ForceApply)
	case UpdateModeOf(w) == ReadOnly, Refused(w) != "":
		SetUpdateMode(out, CreateOnly) // of what is not Towline's, nothing is to change
	case UpdateModeOf(w) == Apply && Outcome(w) == metav1.ConditionTrue && w.Spec.DeleteOption == nil:
		SetUpdateMode(out, ForceApply) // it is Towline's: what others changed there since must not keep it from being released
	}
	out.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return out, nil
}

// Released tells whether a work says what Release makes of it.
func Released(w *workv1.ManifestWork) bool {
	if w.Spec.DeleteOption == nil || w.Spec.DeleteOption.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan {
		return false
	}
	if CarriesRequest(w) || TellsLeft(w) || IsReadOnly(w) && !Disabled(w) || Refused(w) != "" {
		return false
	}
	return !slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1.Manifest) bool { return !isReleased(m.Raw) })
}

// isReleased tells whether a manifest has nothing that Release takes off.
func isReleased(raw []byte) bool {
	var m struct {
		Metadata struct {
			Annotations map[string]json.RawMessage
			Labels      json.RawMessage
			Finalizers  json.RawMessage
		}
	}
	if json.Unmarshal(raw, &m) != nil {
		return false
	}
	_, marked := m.Metadata.Annotations[apis.AnnotationFinalizersDropped]
	labels, err := object(m.Metadata.Labels)
	return !marked && len(m.Metadata.Finalizers) == 0 &&
		(err != nil || !argocd.AnyMark(m.Metadata.Annotations) && !argocd.AnyMark(labels)) // as for Unmark
}

// releaseManager is the field manager of a manifest that says nothing of an Application but its name.
const releaseManager = workv1.DefaultFieldManager + "-release"

// PutBack changes a work that carries a request so that it carries the Application, to where the work brought it, or just
// its name for nil.
func PutBack(w *workv1.ManifestWork, app *argocd.Application) error {
	if app == nil {
		return nameOnly(w)
	}
	full, err := Render(At(app, w), Requests{})
	if err != nil {
		return err
	}
	delete(w.Annotations, apis.AnnotationRequestSent)
	full.Spec.Executor = w.Spec.Executor
	if others := beside(w); len(others) > 0 {
		full.Spec.Workload.Manifests = append(full.Spec.Workload.Manifests, others...)
		full.Spec.DeleteOption = w.Spec.DeleteOption
	}
	full.Spec.DeepCopyInto(&w.Spec)
	noteMode(w, ForceApply)
	return nil
}

// At is the Application as it would be if it still named the place where the work brought it. It shares all but its annotations
// with app.
func At(app *argocd.Application, w *workv1.ManifestWork) *argocd.Application {
	there := *app
	there.Annotations = maps.Clone(app.Annotations)
	metav1.SetMetaDataAnnotation(&there.ObjectMeta, apis.AnnotationCluster, w.Namespace)
	if len(w.Spec.ManifestConfigs) > 0 {
		metav1.SetMetaDataAnnotation(&there.ObjectMeta, apis.AnnotationAppNamespace, w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace)
	}
	return &there
}

// nameOnly lets a work that carries a request carry just the name of its Application. It returns an error for one that
// says nothing of how and where that is applied: somebody has changed it.
func nameOnly(w *workv1.ManifestWork) error {
	if len(w.Spec.ManifestConfigs) != 1 || w.Spec.ManifestConfigs[0].UpdateStrategy == nil ||
		w.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply == nil {
		return errors.New("the ManifestWork does not say how its Application is applied")
	}
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	delete(w.Annotations, apis.AnnotationRequestSent)
	return carryOnly(w, map[string]string{"name": id.Name, "namespace": id.Namespace}, releaseManager, nil)
}

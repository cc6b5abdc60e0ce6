package work

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// Release is the work changed so that its deletion leaves everything on the cluster as it is: the Application there
// loses its finalizers, so that nothing cascades if someone deletes it later, and the work's mark of ownership. It
// returns an error for a work that holds no readable Application. A work that carries a request gets app in its
// place, as it is on the hub; app may be nil when there is none any more.
//
// Once the agent (v1.2.0) has applied the result, the deletion of the work passes over what it does not own.
func Release(w *workv1.ManifestWork, app *argocd.Application) (*workv1.ManifestWork, error) {
	out := w.DeepCopy()
	if Sent(w).Last.State == relay.OnItsWay && app != nil {
		if err := putBack(out, app); err != nil {
			return nil, err
		}
	}
	for i := range out.Spec.Workload.Manifests {
		raw, err := withoutFinalizers(out.Spec.Workload.Manifests[i].Raw)
		if err != nil {
			return nil, err
		}
		out.Spec.Workload.Manifests[i].Raw = raw
	}
	switch ClaimOf(w) {
	case Asks:
		if Outcome(w) == metav1.ConditionTrue {
			SetClaim(out, Takes) // it is Towline's: what others changed there since must not keep it from being let go of
			break
		}
		fallthrough // of what is not Towline's, nothing is to change
	case Looks:
		SetClaim(out, Leaves)
	case Takes, Leaves:
	}
	out.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return out, nil
}

// Released tells whether a work says what Release makes of it.
func Released(w *workv1.ManifestWork) bool {
	if w.Spec.DeleteOption == nil || w.Spec.DeleteOption.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan {
		return false
	}
	out, err := Release(w, nil)
	return err == nil && Sent(w).Last.State != relay.OnItsWay && sameSpec(&w.Spec, &out.Spec)
}

// putBack replaces a request by the Application, to where the work brought it.
func putBack(w *workv1.ManifestWork, app *argocd.Application) error {
	full, err := Render(At(app, w), Requests{})
	if err != nil {
		return err
	}
	delete(w.Annotations, apis.AnnotationRequestSent)
	full.Spec.Executor = w.Spec.Executor
	full.Spec.DeepCopyInto(&w.Spec)
	return nil
}

// At is the Application as it would be if it still named the place where the work brought it.
func At(app *argocd.Application, w *workv1.ManifestWork) *argocd.Application {
	there := app.DeepCopy()
	if there.Annotations == nil {
		there.Annotations = map[string]string{}
	}
	there.Annotations[apis.AnnotationCluster] = w.Namespace
	if len(w.Spec.ManifestConfigs) > 0 {
		there.Annotations[apis.AnnotationAppNamespace] = w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace
	}
	return there
}

// withoutFinalizers is a manifest without finalizers.
func withoutFinalizers(raw []byte) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if meta, err = object(fields["metadata"]); err != nil {
		return nil, err
	}
	if _, has := meta["finalizers"]; !has {
		return raw, nil
	}
	delete(meta, "finalizers")
	if fields["metadata"], err = marshal(meta); err != nil {
		return nil, err
	}
	return marshal(fields)
}

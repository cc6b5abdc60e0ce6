package work

import (
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// Field managers by which the work agent applies requests. OCM wants them to begin with "work-agent". What they own
// goes over to Argo CD when it answers, and the Application's own manager never has it.
const (
	operationManager   = workv1.DefaultFieldManager + "-operation"
	terminationManager = workv1.DefaultFieldManager + "-termination"
)

// Request is what a work carries for a moment instead of an Application.
type Request struct {
	// Operation is the JSON of the operation to begin; empty to stop the one that runs.
	Operation json.RawMessage

	// Version is the resourceVersion that the cluster's Application must have to take the request.
	Version string
}

// Carry changes a work that Render made for the Application so that it carries the request instead. Everything but
// the manifest and its field manager stays.
func Carry(w *workv1.ManifestWork, app *argocd.Application, r Request) error {
	fields, manager := map[string]any{"operation": r.Operation}, operationManager
	if len(r.Operation) == 0 {
		fields = map[string]any{"status": map[string]any{"operationState": map[string]string{"phase": "Terminating"}}}
		manager = terminationManager
	}
	return carryOnly(w, map[string]string{
		"name": app.Name, "namespace": app.ClusterNamespace(), "resourceVersion": r.Version,
	}, manager, fields)
}

// manager is the field manager by which the agent applies what a work carries.
func manager(w *workv1.ManifestWork) string {
	for i := range w.Spec.Workload.Manifests {
		fields, err := object(w.Spec.Workload.Manifests[i].Raw)
		_, other := otherThanApplication(w.Spec.Workload.Manifests[i].Raw)
		switch {
		case err != nil || other:
			continue
		case len(fields["spec"]) > 0:
		case len(fields["operation"]) > 0:
			return operationManager
		case len(fields["status"]) > 0:
			return terminationManager
		default:
			return releaseManager
		}
	}
	return workv1.DefaultFieldManager
}

// Terminating is a work changed so that it carries, instead of what it carries now, the request to stop the operation that
// runs there. All else that it says stays: it is about to go. It is the work itself where somebody has changed it so
// that it does not say how its Application is applied.
func Terminating(w *workv1.ManifestWork, app *argocd.Application, there relay.Cluster) (*workv1.ManifestWork, error) {
	if len(w.Spec.ManifestConfigs) != 1 {
		return w, nil
	}
	out := w.DeepCopy()
	out.Spec.ManifestConfigs[0].UpdateStrategy = Strategy()
	noteMode(out, ForceApply)
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, apis.AnnotationRequestSent, relay.Sent{
		State: relay.OnItsWay, ID: relay.TerminationID(there.StartedAt), Version: there.Version, Instead: Brings(w),
	}.String())
	return out, Carry(out, At(app, w), Request{Version: there.Version})
}

// carryOnly lets a work carry no more of an Application than these fields, once, by a field manager of their own.
func carryOnly(w *workv1.ManifestWork, metadata map[string]string, manager string, fields map[string]any) error {
	manifest := map[string]any{"apiVersion": argocd.GroupVersion.String(), "kind": argocd.Kind, "metadata": metadata}
	maps.Copy(manifest, fields)
	raw, err := Marshal(manifest)
	if err != nil {
		return err
	}
	w.Spec.Workload.Manifests = append([]workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}, beside(w)...)
	strategy := once(w.Spec.ManifestConfigs[0].UpdateStrategy)
	strategy.ServerSideApply.FieldManager = manager
	return nil
}

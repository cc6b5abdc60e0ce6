package work

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
)

// Field managers by which the work agent applies requests. OCM requires the prefix "work-agent". When Argo CD handles
// a request, Argo CD takes over the fields of the request. The field manager of the Application itself never owns
// these fields.
const (
	operationManager   = workv1.DefaultFieldManager + "-operation"
	terminationManager = workv1.DefaultFieldManager + "-termination"

	// releaseManager applies a manifest with only the name of an Application.
	releaseManager = workv1.DefaultFieldManager + "-release"
)

// Request temporarily replaces the Application in a work. A request has these steps:
//   - Carry replaces the Application in a rendered work, and Terminating in an existing work. KeepReplaced stores the
//     Application.
//   - The agent answers; see Outcome and Outdated.
//   - The Application replaces the request. A delivery renders the hub's Application anew. A release, a removal
//     (Withdrawn) and a freeze (FreezePutBack) take the first possible form of the Application; see bringBack.
type Request struct {
	// Operation is the JSON of the operation to start. Empty: a request to stop the running operation.
	Operation json.RawMessage

	// Version is the resourceVersion that the cluster's Application must have. With another version, the API server
	// refuses the request.
	Version string
}

// CarriesRequest reports whether a work now carries a request instead of its Application.
func CarriesRequest(w *workv1.ManifestWork) bool { return Sent(w).Last.State == relay.OnItsWay }

// Sent returns the requests stored in the annotations of a work.
func Sent(w *workv1.ManifestWork) relay.Stored {
	at, uncompared := strings.CutPrefix(w.Annotations[apis.AnnotationChangedAt], apis.ChangedUncompared)
	at = strings.TrimSpace(at)
	return relay.Stored{
		Refresh:   relay.ParseRefresh(w.Annotations[apis.AnnotationRefreshSent]),
		Last:      relay.ParseSent(w.Annotations[apis.AnnotationRequestSent]),
		ChangedAt: at, Uncompared: uncompared,
	}
}

// Carry replaces the Application in a rendered work with the request. Only the manifest and its field manager change.
func Carry(w *workv1.ManifestWork, app *argocd.Application, r Request) error {
	raw, err := payload.Request(app, r.Operation, r.Version)
	if err != nil {
		return err
	}
	manager := operationManager
	if len(r.Operation) == 0 {
		manager = terminationManager
	}
	carryOnly(w, raw, manager)
	return nil
}

// manager returns the agent's field manager for the content of a work.
func manager(w *workv1.ManifestWork) string {
	for i := range w.Spec.Workload.Manifests {
		var held struct{ Spec, Operation, Status json.RawMessage }
		raw := w.Spec.Workload.Manifests[i].Raw
		_, other := otherThanApplication(raw)
		switch {
		case other || json.Unmarshal(raw, &held) != nil:
			continue
		case len(held.Spec) > 0:
		case len(held.Operation) > 0:
			return operationManager
		case len(held.Status) > 0:
			return terminationManager
		default:
			return releaseManager
		}
	}
	return workv1.DefaultFieldManager
}

// Terminating returns a copy of a work that carries a request to stop the running operation, in place of the present
// content. The rest of the work stays the same, because the work is about to be deleted. Terminating returns the work
// itself if an edit has removed the configuration of how the Application is applied.
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
	KeepReplaced(out, w)
	return out, Carry(out, ApplicationOn(app, w), Request{Version: there.Version})
}

// carryOnly replaces the content of a work with a manifest of some fields of an Application. The agent applies the fields
// once, with a separate field manager.
func carryOnly(w *workv1.ManifestWork, raw []byte, manager string) {
	w.Spec.Workload.Manifests = append([]workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}, sideManifests(w)...)
	strategy := once(w.Spec.ManifestConfigs[0].UpdateStrategy)
	strategy.ServerSideApply.FieldManager = manager
}

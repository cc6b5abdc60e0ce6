package payload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// hubOnly are annotations and labels for the hub only. On the cluster, the keys have another meaning or do harm. For
// example, skip-reconcile would stop the cluster's Argo CD. The pull label would start a loop on a hub that manages
// itself.
var hubOnly = []string{
	apis.LabelPull,
	apis.AnnotationCluster,
	apis.AnnotationAppNamespace,
	apis.AnnotationDestinationName,
	apis.AnnotationDestinationServer,
	apis.AnnotationPlacement,
	apis.AnnotationSkipReconcile,
	apis.AnnotationWith,
	apis.AnnotationRefresh,
	apis.AnnotationRelease,
	apis.AnnotationPaused,
	apis.AnnotationForceDelete,
	apis.AnnotationDeleteOnOutage,
	apis.AnnotationMoveOrder,
	apis.AnnotationAdopt,
	apis.AnnotationFinalizersDropped,
	apis.AnnotationFrozen,
	apis.AnnotationRefreshRequest,
	apis.AnnotationPayloadDigest,
	apis.AnnotationFields,
	// kubectl apply stores the whole hub object in this annotation, for its own use on the hub.
	"kubectl.kubernetes.io/last-applied-configuration",
}

// Render returns the manifest of an Application for its cluster. work is the name of the ManifestWork, and refresh a
// refresh on its way. The error is about a spec or destination that is not a JSON object.
func Render(app *argocd.Application, work string, refresh relay.Refresh) ([]byte, error) {
	there := specThere(app)
	if there.err != nil {
		return nil, there.err
	}
	out := maps.Clone(app.Unknown)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	out["spec"], out["apiVersion"], out["kind"] = there.json, apiVersion, kind
	meta := metadataOf(app, work, refresh)
	if refresh.Kind != "" {
		raw, err := withMeta(out, &meta)
		if err != nil {
			return nil, err
		}
		meta.Annotations[apis.AnnotationPayloadDigest] = Digest(raw)
	}
	countFields(&meta, there.fields)
	return withMeta(out, &meta)
}

// withMeta returns the JSON of an object with the given metadata and the given other fields.
func withMeta(fields map[string]json.RawMessage, meta *metadata) ([]byte, error) {
	raw, err := Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	fields["metadata"] = raw
	return compact(fields)
}

// Parts common to all payloads, in JSON.
var (
	apiVersion = quoted(argocd.GroupVersion.String())
	kind       = quoted(argocd.Kind)
)

// metadata has only the metadata for the cluster. ObjectMeta would add a null creationTimestamp. The fields
// have the order of the API server, so that unchanged metadata has the same bytes.
type metadata struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
}

func metadataOf(app *argocd.Application, work string, refresh relay.Refresh) metadata {
	meta := metadata{
		Name:        app.Name,
		Namespace:   app.ClusterNamespace(),
		Labels:      without(app.Labels),
		Annotations: without(app.Annotations),
		Finalizers:  app.FinalizersThere(),
	}
	meta.Labels[apis.LabelPulled] = "true"
	meta.Annotations[apis.AnnotationWork] = work
	if refresh.Kind != "" {
		meta.Annotations[apis.AnnotationRefresh] = refresh.Kind
		meta.Annotations[apis.AnnotationRefreshRequest] = refresh.ID
		if argocd.Hydrates(app.Spec.Raw) && refresh.Kind != apis.RefreshSpecChanged {
			// Argo CD's own refresh sets both annotations. With the refresh annotation alone, the cluster's Argo CD
			// hydrates a new commit, but retries a failed hydration only after minutes.
			meta.Annotations[apis.AnnotationHydrate] = refresh.Kind
		}
	}
	if set, ok := app.ApplicationSet(); ok {
		meta.Labels[apis.LabelApplicationSet] = "true"
		meta.Annotations[apis.AnnotationApplicationSet] = app.Namespace + "/" + set
	}
	return meta
}

// without copies labels or annotations, except keys for the hub only and marks of the hub's controllers.
func without(in map[string]string) map[string]string {
	out := make(map[string]string, len(in)+2)
	for k, v := range in {
		if !slices.Contains(hubOnly, k) && !argocd.IsMark(k) {
			out[k] = v
		}
	}
	return out
}

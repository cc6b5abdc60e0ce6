package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
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

// payload returns the Application for the cluster, in JSON.
func payload(app *argocd.Application, requests Requests) ([]byte, error) {
	there := specThere(app)
	if there.err != nil {
		return nil, there.err
	}
	out := maps.Clone(app.Unknown)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	out["spec"], out["apiVersion"], out["kind"] = there.json, apiVersion, kind
	meta := payloadMeta(app, requests)
	if requests.Refresh.Kind != "" {
		raw, err := withMeta(out, &meta)
		if err != nil {
			return nil, err
		}
		meta.Annotations[apis.AnnotationPayloadDigest] = digest([]workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}})
	}
	countFields(&meta, there.fields)
	return withMeta(out, &meta)
}

// withMeta returns the JSON of an object with the given metadata and the given other fields.
func withMeta(fields map[string]json.RawMessage, metadata *payloadMetadata) ([]byte, error) {
	meta, err := Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	fields["metadata"] = meta
	var compact bytes.Buffer
	err = json.Compact(&compact, jsonOf(fields))
	return compact.Bytes(), err
}

// Parts common to all payloads, in JSON.
var (
	apiVersion = quoted(argocd.GroupVersion.String())
	kind       = quoted(argocd.Kind)
)

// quoted returns a text in JSON.
func quoted(s string) json.RawMessage {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return json.RawMessage(`"` + s + `"`)
	}
	out, err := Marshal(s)
	if err != nil {
		panic(err) // every string can be encoded
	}
	return out
}

// jsonOf returns the JSON of an object with the given fields, sorted by key. Marshal would check and copy each field
// again for each enclosing object.
func jsonOf(fields map[string]json.RawMessage) []byte {
	to := []byte{'{'}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(append(to, quoted(key)...), ':'), fields[key]...)
	}
	return append(to, '}')
}

// payloadMetadata has only the metadata for the cluster. ObjectMeta would add a null creationTimestamp. The fields
// have the order of the API server, so that unchanged metadata has the same bytes.
type payloadMetadata struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
}

func payloadMeta(app *argocd.Application, requests Requests) payloadMetadata {
	meta := payloadMetadata{
		Name:        app.Name,
		Namespace:   app.ClusterNamespace(),
		Labels:      without(app.Labels),
		Annotations: without(app.Annotations),
		Finalizers:  app.FinalizersThere(),
	}
	meta.Labels[apis.LabelPulled] = "true"
	meta.Annotations[apis.AnnotationWork] = Name(app)
	if requests.Refresh.Kind != "" {
		meta.Annotations[apis.AnnotationRefresh] = requests.Refresh.Kind
		meta.Annotations[apis.AnnotationRefreshRequest] = requests.Refresh.ID
		if argocd.Hydrates(app.Spec.Raw) && requests.Refresh.Kind != apis.RefreshSpecChanged {
			// Argo CD's own refresh sets both annotations. With the refresh annotation alone, the cluster's Argo CD
			// hydrates a new commit, but retries a failed hydration only after minutes.
			meta.Annotations[apis.AnnotationHydrate] = requests.Refresh.Kind
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

// spellAutomation expresses automated syncs without syncPolicy.automated.enabled (Argo CD 3.1 and later). An Argo CD
// without the field reads any `automated` as yes, and its CRD refuses the whole Application. On the hub, the
// ApplicationSet controller sets the field to false for a RollingSync.
func spellAutomation(fields map[string]json.RawMessage) {
	policy, err := object(fields["syncPolicy"])
	if err != nil {
		return
	}
	automated, err := object(policy["automated"])
	if err != nil || automated["enabled"] == nil {
		return
	}
	if string(automated["enabled"]) == "false" {
		delete(policy, "automated")
	} else {
		delete(automated, "enabled")
		policy["automated"] = jsonOf(automated)
	}
	fields["syncPolicy"] = jsonOf(policy)
}

// object decodes one level of a JSON object. An empty input gives an empty object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if fields == nil { // the JSON was null
		fields = map[string]json.RawMessage{}
	}
	return fields, nil
}

// Marshal is json.Marshal without the escaping of <, > and &. Escaping would change the bytes of an unchanged field.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

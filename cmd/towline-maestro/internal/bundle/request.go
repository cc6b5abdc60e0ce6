package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Towline asks for an operation with a manifest for one resourceVersion of the cluster's Application, so that the
// operation runs only once. After any change of the Application, the cluster's API server refuses the manifest.
//
// Maestro accepts no manifest with metadata.resourceVersion (pkg/services/validation.go). So the agents get a
// replacement manifest. The API server refuses the replacement as soon as a new operation has begun on the cluster, or
// waits on the cluster. For the refusal, the agent applies the replacement without force. Argo CD sets certain fields
// when an operation begins, and the replacement has the values of these fields from before the operation.

// The names of the Application's values in the feedback of Towline's works: see docs/contract.md.
const (
	versionValue = "resourceVersion"
	startedValue = "operationStateStartedAt"
)

// Never is the start time of the last operation for an Application without an operation. Towline does not show Never on
// the hub.
const Never = "1970-01-01T00:00:00Z"

// Refusal is the error for a request that cannot reach the agents through Maestro. The text has the reason.
type Refusal struct{ text string }

// Error implements error.
func (r *Refusal) Error() string { return r.text }

// errStale is the error for an operation with a resourceVersion of the Application that differs from the agent's last
// report.
var errStale = errors.New("the agent has reported a different version of the Application since the request for the operation")

// request is Towline's manifest for an operation.
type request struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Operation  map[string]any    `json:"operation,omitempty"`
	Spec       json.RawMessage   `json:"spec,omitempty"`
}

// translate returns the replacements for manifests of a spec, by index. said is the agent's last status. The error is a
// *Refusal, or errStale for a request with a version not reported by the agent.
func translate(spec *workv1.ManifestWorkSpec, said *workv1.ManifestWorkStatus) (map[int]workv1.Manifest, error) {
	out := map[int]workv1.Manifest{}
	for i := range spec.Workload.Manifests {
		data := raw(&spec.Workload.Manifests[i])
		var r request
		if !bytes.Contains(data, []byte(`"resourceVersion"`)) || json.Unmarshal(data, &r) != nil || !r.versioned() {
			continue
		}
		if len(r.Operation) == 0 {
			return nil, &Refusal{"Maestro cannot carry a request to terminate an operation, because the request could terminate the next operation. " +
				"Terminate the operation on the cluster, with its Argo CD"}
		}
		version, started := "", ""
		for m := range applications(said) {
			if m.ResourceMeta.Namespace == r.Metadata.Namespace && m.ResourceMeta.Name == r.Metadata.Name {
				version, started = told(m)
			}
		}
		if version != r.Metadata.ResourceVersion {
			return nil, errStale
		}
		manifest, err := r.after(started)
		if err != nil {
			return nil, err
		}
		out[i] = manifest
	}
	return out, nil
}

// versioned tells whether a manifest asks for an action on one resourceVersion of an Application. Such a manifest has
// no spec.
func (r *request) versioned() bool {
	return r.Kind == "Application" && strings.HasPrefix(r.APIVersion, "argoproj.io/") && r.Metadata.ResourceVersion != "" && len(r.Spec) == 0
}

// after returns the manifest of an operation that may begin only if the last operation began at the given time. The
// time is empty for an Application without any operation.
//
// The manifest also sets the fields automated and username of initiatedBy. A waiting operation of a user or of Argo CD
// itself differs in these fields, and the API server refuses the manifest.
//
// For an Application without any operation, the manifest sets an operationState. Argo CD (2.14 to 3.5) takes the state
// for a finished operation, and replaces the state. Argo CD's notifications ignore the state, because the operation has
// no end.
func (r *request) after(started string) (workv1.Manifest, error) {
	by, _ := r.Operation["initiatedBy"].(map[string]any)
	if by == nil {
		by = map[string]any{}
	}
	for field, none := range map[string]any{"automated": false, "username": ""} {
		if _, ok := by[field]; !ok {
			by[field] = none
		}
	}
	r.Operation["initiatedBy"] = by
	last := map[string]any{"startedAt": started}
	if started == "" {
		last = map[string]any{"startedAt": Never, "phase": "Error", "operation": map[string]any{}}
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": r.APIVersion, "kind": r.Kind,
		"metadata":  map[string]any{"name": r.Metadata.Name, "namespace": r.Metadata.Namespace},
		"operation": r.Operation, "status": map[string]any{"operationState": last},
	})
	if err != nil {
		return workv1.Manifest{}, fmt.Errorf("operation of Application %s: %w", r.Metadata.Name, err)
	}
	return manifestOf(data), nil
}

// applications returns the parts of an agent's status about Applications.
func applications(said *workv1.ManifestWorkStatus) iter.Seq[*workv1.ManifestCondition] {
	return func(yield func(*workv1.ManifestCondition) bool) {
		for i := range said.ResourceStatus.Manifests {
			if m := &said.ResourceStatus.Manifests[i]; m.ResourceMeta.Resource == "applications" && !yield(m) {
				return
			}
		}
	}
}

// told returns the Application's resourceVersion and the start time of the last operation, as reported by the agent. A
// value without a report is empty. The start time is also empty for an Application without any operation.
func told(m *workv1.ManifestCondition) (version, started string) {
	for _, v := range m.StatusFeedbacks.Values {
		switch {
		case v.Value.String == nil:
		case v.Name == versionValue:
			version = *v.Value.String
		case v.Name == startedValue && *v.Value.String != Never:
			started = *v.Value.String
		}
	}
	return version, started
}

// Began returns the start time of the last operation on the work's cluster, from the agent's status. Began is empty
// without an operation.
func (b *Bundle) Began() string {
	for m := range applications(&b.Work.Status) {
		if _, began := told(m); began != "" {
			return began
		}
	}
	return ""
}

// Requests tells whether the agents get an operation that runs only once.
func (b *Bundle) Requests() bool { return len(b.instead) > 0 }

// sent returns the bundle's spec for agents, with the replacements of translate.
func (b *Bundle) sent() *workv1.ManifestWorkSpec {
	if len(b.instead) == 0 {
		return &b.Work.Spec
	}
	spec := b.Work.Spec.DeepCopy()
	for i, manifest := range b.instead {
		spec.Workload.Manifests[i] = manifest
		var r request
		if json.Unmarshal(manifest.Raw, &r) != nil {
			continue
		}
		named := func(c workv1.ManifestConfigOption) bool {
			id := c.ResourceIdentifier
			return id.Resource == "applications" && id.Namespace == r.Metadata.Namespace && id.Name == r.Metadata.Name
		}
		if at := slices.IndexFunc(spec.ManifestConfigs, named); at >= 0 {
			asking(&spec.ManifestConfigs[at])
		}
	}
	return spec
}

// asking makes the apply of a manifest fail if a field belongs to another field manager. asking also removes the
// ignored fields. For ignored fields, the agent (v1.2.0) applies an annotation, and the Application already has the
// annotation from the work's normal manifest.
func asking(config *workv1.ManifestConfigOption) {
	if s := config.UpdateStrategy; s != nil && s.ServerSideApply != nil {
		s.ServerSideApply.Force, s.ServerSideApply.IgnoreFields = false, nil
	}
}

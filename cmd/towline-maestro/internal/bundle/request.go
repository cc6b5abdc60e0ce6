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

// Towline starts a single run of an operation by a manifest with the resourceVersion of the cluster's Application.
// After any change of the Application, the cluster's API server refuses the manifest. Maestro does not accept a
// manifest with metadata.resourceVersion (pkg/services/validation.go). So agents get a replacement manifest. The API
// server refuses the replacement after a new operation has begun or waits on the cluster. For the refusal, the agent
// applies the replacement without force, and the replacement has the fields set by Argo CD at the begin of an
// operation, with the former values.

// The names of the Application's values in the feedback of Towline's works: see docs/contract.md.
const (
	versionValue = "resourceVersion"
	startedValue = "operationStateStartedAt"
)

// Never is the start time of the last operation for an Application without an operation. Towline does not show Never on
// the hub.
const Never = "1970-01-01T00:00:00Z"

// Refusal is an error for a request in a work with no possible manifest for agents. The text has the reason.
type Refusal struct{ text string }

// Error implements error.
func (r *Refusal) Error() string { return r.text }

// errStale is the error for an operation with a resourceVersion different from the Application's version in the agent's
// last status.
var errStale = errors.New("the agent has told of another version of the Application since the operation was asked for")

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
			return nil, &Refusal{"the end of an operation cannot be asked for through Maestro, because nothing would keep it from the " +
				"next operation. Terminate the operation on the cluster, with its Argo CD"}
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

// versioned tells whether a manifest is a request for a single version of an Application.
func (r *request) versioned() bool {
	return r.Kind == "Application" && strings.HasPrefix(r.APIVersion, "argoproj.io/") && r.Metadata.ResourceVersion != "" && len(r.Spec) == 0
}

// after returns the manifest of an operation. The operation may begin only if the last operation began at the time
// started; empty for no last operation.
//
// The manifest always has the fields of initiatedBy. A waiting operation requested by a user or by Argo CD differs in
// the fields. Without a last operation, the manifest has an operation state. Argo CD (2.14 to 3.5) takes the state for
// a completed operation, and replaces the state. Argo CD's notifications ignore the state, because the operation has no
// end.
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

// told returns the values in an agent's status of an Application: the resourceVersion, and the start time of the last
// operation. A missing value is empty.
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

// Requests tells whether the bundle sends agents an operation for a single run.
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

// asking makes the agent apply a manifest without force: the API server then refuses a change of a field set by a
// different writer. asking also removes the ignored fields. For ignored fields, the agent (v1.2.0) applies an
// annotation. The Application already has the annotation from the work's normal manifest.
func asking(config *workv1.ManifestConfigOption) {
	if s := config.UpdateStrategy; s != nil && s.ServerSideApply != nil {
		s.ServerSideApply.Force, s.ServerSideApply.IgnoreFields = false, nil
	}
}

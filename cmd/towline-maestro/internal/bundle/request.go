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

// Towline has an operation run once by a manifest for one version of the cluster's Application: after any change of that, the cluster's
// API server refuses the manifest. Maestro takes no manifest with metadata.resourceVersion (pkg/services/validation.go). So agents get
// another one in its place, which is refused as soon as another operation has begun on the cluster, or waits there: it is applied without
// force, and has fields that Argo CD sets when an operation begins, with the values that they had before.

// What the feedback of a work of Towline says of the Application: see docs/contract.md.
const (
	versionValue = "resourceVersion"
	startedValue = "operationStateStartedAt"
)

// Never is when the last operation began of an Application that has had none. Towline does not show it on the hub.
const Never = "1970-01-01T00:00:00Z"

// Refusal says why agents cannot get what a work asks for.
type Refusal struct{ text string }

// Error implements error.
func (r *Refusal) Error() string { return r.text }

// errStale is for an operation that is meant for another version of the Application than the one that the agent has told of.
var errStale = errors.New("the agent has told of another version of the Application since the operation was asked for")

// request is a manifest as Towline makes it for an operation.
type request struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Operation  map[string]any    `json:"operation,omitempty"`
	Spec       json.RawMessage   `json:"spec,omitempty"`
}

// translate gives, by their place, the manifests that agents get in place of those of a spec. said is what the agent has told last. The
// error is a *Refusal, or says that the request is for a version of which the agent has not told.
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

// versioned tells whether a manifest asks for something of one version of an Application.
func (r *request) versioned() bool {
	return r.Kind == "Application" && strings.HasPrefix(r.APIVersion, "argoproj.io/") && r.Metadata.ResourceVersion != "" && len(r.Spec) == 0
}

// after is the manifest of an operation that may begin only if the last one began at that time: empty if there has been none.
//
// Who has begun that operation matters too: one that waits, and that a user or Argo CD itself has asked for, differs in these fields.
// Where there has been none, a state is applied that Argo CD (2.14 to 3.5) takes for that of an operation that is over, and replaces. Its
// notifications pass over one that has not finished.
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

// applications are what an agent has told of Applications.
func applications(said *workv1.ManifestWorkStatus) iter.Seq[*workv1.ManifestCondition] {
	return func(yield func(*workv1.ManifestCondition) bool) {
		for i := range said.ResourceStatus.Manifests {
			if m := &said.ResourceStatus.Manifests[i]; m.ResourceMeta.Resource == "applications" && !yield(m) {
				return
			}
		}
	}
}

// told is what an agent has told of an Application: its version, and when its last operation began; empty for none.
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

// Began is when the last operation began on the work's cluster, as the agent has told it; empty for none.
func (b *Bundle) Began() string {
	for m := range applications(&b.Work.Status) {
		if _, began := told(m); began != "" {
			return began
		}
	}
	return ""
}

// Requests tells whether agents get an operation that is to run once.
func (b *Bundle) Requests() bool { return len(b.instead) > 0 }

// sent is the bundle's spec as agents get it.
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

// asking has a manifest applied unless that changes a field which someone else has set. Fields to be ignored go: for them the agent
// (v1.2.0) applies an annotation, which the Application has from the work's other manifest already.
func asking(config *workv1.ManifestConfigOption) {
	if s := config.UpdateStrategy; s != nil && s.ServerSideApply != nil {
		s.ServerSideApply.Force, s.ServerSideApply.IgnoreFields = false, nil
	}
}

package argocd

import "encoding/json"

// Patch is a merge patch of a hub's Application. A nil field changes nothing.
// +kubebuilder:object:generate=false
type Patch struct {
	// Annotations are the annotations to set. A nil value removes the annotation.
	Annotations map[string]*string

	// Finalizers replaces the list of finalizers.
	Finalizers *[]string

	// Operation replaces the requested operation. "null" removes the operation.
	Operation json.RawMessage

	// Status is a merge patch of the status without the conditions.
	Status json.RawMessage

	// Conditions replaces the list of conditions. The list has several writers.
	Conditions []Condition

	// Exact binds the patch to the read version. A patch with conditions or finalizers is always bound.
	Exact bool
}

// Data returns the patch as JSON, bound to the UID of the read Application. The result is nil for a patch without a
// change.
func (p *Patch) Data(read *Application) []byte {
	metadata, out := map[string]any{"uid": read.UID}, map[string]any{}
	if p.Annotations != nil {
		metadata["annotations"] = p.Annotations
	}
	if p.Finalizers != nil {
		metadata["finalizers"] = *p.Finalizers
	}
	if p.Operation != nil {
		out["operation"] = p.Operation
	}
	status := map[string]json.RawMessage{}
	if p.Status != nil {
		must(json.Unmarshal(p.Status, &status))
	}
	if p.Conditions != nil {
		data, err := json.Marshal(p.Conditions)
		must(err)
		status["conditions"] = data
	}
	if len(status) > 0 {
		out["status"] = status
	}
	if len(metadata) == 1 && len(out) == 0 {
		return nil
	}
	if p.Exact || p.Conditions != nil || p.Finalizers != nil {
		metadata["resourceVersion"] = read.ResourceVersion
	}
	out["metadata"] = metadata
	data, err := json.Marshal(out)
	must(err)
	return data
}

// must panics on errors about JSON from this program itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

package argocd

import "encoding/json"

// Patch is a merge patch of a hub's Application. What is nil stays as it is.
//
// +kubebuilder:object:generate=false
type Patch struct {
	// Annotations are set; one that is nil is taken off.
	Annotations map[string]*string

	// Finalizers replaces the list of finalizers.
	Finalizers *[]string

	// Operation replaces the requested operation; "null" takes it off.
	Operation json.RawMessage

	// Status is a merge patch of the status. Conditions are not in it.
	Status json.RawMessage

	// Conditions replaces the list of conditions, which has several writers.
	Conditions []Condition

	// Exact says that the patch holds for the version only that was read. One with conditions or finalizers does anyway.
	Exact bool
}

// Data is the patch of the Application that was read, and never of another of its name. It is nil when it changes nothing.
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

// must is for JSON that this program has made itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

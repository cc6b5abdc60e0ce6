package argocd

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status has the fields of an Application's status written by Towline on the hub. ApplicationReports carry the same
// fields to the hub, and the limits of lengths belong to the schema of ApplicationReports. Every field can be missing:
// Towline does not write unobserved fields. Times are RFC 3339 strings, as in the API. A Go time would be as exact, but
// every comparison would allocate and format the time.
type Status struct {
	// Health is the common health of all resources of the Application.
	// +optional
	Health Health `json:"health,omitzero"`

	// Sync is the result of the last comparison with Git, and the compared revision.
	// +optional
	Sync *Sync `json:"sync,omitempty"`

	// OperationState is the state of the last operation, finished or running.
	// +optional
	OperationState *OperationState `json:"operationState,omitempty"`

	// ReconciledAt is when the cluster's Argo CD last compared the Application with Git.
	// +optional
	// +kubebuilder:validation:Format=date-time
	ReconciledAt string `json:"reconciledAt,omitempty"`

	// Conditions are errors and warnings. The list has no merge key in Argo CD's schema: a patch replaces the whole list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Conditions []Condition `json:"conditions,omitempty"`

	// Resources are the Application's resources, missing and failed resources included. A patch replaces the whole list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Resources []ResourceStatus `json:"resources,omitempty"`

	// Summary has the addresses and the images of the resources.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// History are the last successful syncs, the newest last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []Deployment `json:"history,omitempty"`

	// SourceType is the rendering tool of a single source: Helm, Kustomize, Directory or Plugin.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	SourceType string `json:"sourceType,omitempty"`

	// SourceTypes are the rendering tools of several sources, in the order of the sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=32
	SourceTypes []string `json:"sourceTypes,omitempty"`

	// Pushed is true for a status from an Argo CD of the hub, before Towline pulled the Application. Such a status has
	// the input of the comparison, and Towline never writes this input.
	Pushed bool `json:"-"`

	// Unreadable names the fields with an unknown format, sorted. The values of these fields are unknown.
	Unreadable []string `json:"-"`
}

// comparedTo is the key of a comparison's input. Each comparison by Argo CD has this key.
var comparedTo = []byte(`"comparedTo":`)

// plainStatus has Status' fields but not its methods, to prevent an infinite recursion of the decoding.
type plainStatus Status

// UnmarshalJSON decodes a status. A newer Argo CD or a hostile cluster may send a field with a different type. Such a
// field is dropped, listed in Unreadable, and affects no further field.
func (s *Status) UnmarshalJSON(data []byte) error {
	var p plainStatus
	pushed := bytes.Contains(data, comparedTo)
	if json.Unmarshal(data, &p) == nil {
		*s = Status(p)
		shareSources(s.History)
		s.Pushed = pushed
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*s = Status{Pushed: pushed}
	defer func() { slices.Sort(s.Unreadable) }()
	for name, into := range map[string]any{
		"health": &s.Health, "sync": &s.Sync, "operationState": &s.OperationState, "reconciledAt": &s.ReconciledAt,
		"conditions": &s.Conditions, "resources": &s.Resources, "summary": &s.Summary, "history": &s.History,
		"sourceType": &s.SourceType, "sourceTypes": &s.SourceTypes,
	} {
		if raw, ok := fields[name]; ok {
			s.take(name, raw, into)
		}
	}
	return nil
}

// take decodes one field. If only the first part of the field is valid, take clears the field again.
func (s *Status) take(name string, raw json.RawMessage, into any) {
	if json.Unmarshal(raw, into) == nil {
		return
	}
	s.Unreadable = append(s.Unreadable, name)
	switch name {
	case "health":
		s.Health = Health{}
	case "sync":
		s.Sync = nil
	case "operationState":
		s.OperationState = nil
	case "conditions":
		s.Conditions = nil
	case "resources":
		s.Resources = nil
	case "summary":
		s.Summary = nil
	case "history":
		s.History = nil
	case "sourceTypes":
		s.SourceTypes = nil
	}
}

// Health is a health code with an explanation.
type Health struct {
	// Status is a code of HealthCodes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status,omitempty"`

	// Message explains the code, if Argo CD gives a reason.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// LastTransitionTime is when the code last changed (Argo CD 2.13 and later).
	// +optional
	// +kubebuilder:validation:Format=date-time
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}

// Sync is the outcome of the last comparison. The schema requires Status.
type Sync struct {
	// Status is a code of SyncCodes.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status"`

	// Revision is the compared revision of an Application with one source.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// Revisions are the compared revisions of an Application with several sources, in the order of the sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`
}

// At returns the single compared revision, or the revisions of all sources in order with commas in between.
func (s *Sync) At() string {
	if s.Revision != "" {
		return s.Revision
	}
	return strings.Join(s.Revisions, ",")
}

// Condition is an error or a warning. The schema requires Type and Message.
type Condition struct {
	// Type names the kind of problem, and ends in Error or Warning.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type"`

	// Message explains the problem to people.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`

	// LastTransitionTime is when the condition appeared or last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// HealthCodes are the health codes of Argo CD 2 and 3 (gitops-engine, pkg/health).
var HealthCodes = []string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}

// SourceTypes are the tools of Argo CD 2 and 3 that render a source.
var SourceTypes = []string{"Helm", "Kustomize", "Directory", "Plugin"}

// SyncCodes are the sync codes of Argo CD 2 and 3.
var SyncCodes = []string{"Synced", "OutOfSync", "Unknown"}

// OperationPhases are the phases of an operation of Argo CD 2 and 3 (gitops-engine, pkg/sync/common).
var OperationPhases = []string{"Running", "Terminating", "Succeeded", "Failed", "Error"}

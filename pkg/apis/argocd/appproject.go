package argocd

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultProject is the project of an Application without a project.
const DefaultProject = "default"

// AppProject is Argo CD's AppProject, with only the parts that Towline reads.
// +kubebuilder:object:root=true
type AppProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the rules for the project's Applications.
	Spec AppProjectSpec `json:"spec"`
}

// AppProjectList is a list of AppProjects.
//
// +kubebuilder:object:root=true
type AppProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AppProject `json:"items"`
}

// AppProjectSpec holds the rules for sources and destinations of Applications. All other fields stay unchanged in Raw.
type AppProjectSpec struct {
	// Raw is the JSON of the whole spec, unchanged.
	Raw json.RawMessage `json:"-"`

	// SourceRepos are patterns of the permitted repositories; a leading "!" forbids.
	SourceRepos []string `json:"sourceRepos,omitempty"`

	// Destinations are the permitted destinations.
	Destinations []ProjectDestination `json:"destinations,omitempty"`

	// SourceNamespaces are patterns of namespaces. Applications in these namespaces may use the project, in addition to
	// Applications in Argo CD's own namespace.
	SourceNamespaces []string `json:"sourceNamespaces,omitempty"`

	// PermitOnlyProjectScopedClusters requires a cluster Secret that names the project.
	PermitOnlyProjectScopedClusters bool `json:"permitOnlyProjectScopedClusters,omitempty"`
}

// ProjectDestination is a pattern of destinations. A leading "!" in a field forbids.
type ProjectDestination struct {
	// Server is a pattern of API servers' addresses.
	Server string `json:"server,omitempty"`

	// Name is a pattern of cluster names in Argo CD.
	Name string `json:"name,omitempty"`

	// Namespace is a pattern of namespaces.
	Namespace string `json:"namespace,omitempty"`
}

// plainSpec has AppProjectSpec's fields but not its methods.
type plainSpec AppProjectSpec

// UnmarshalJSON decodes the rules and keeps the whole JSON in Raw.
func (s *AppProjectSpec) UnmarshalJSON(data []byte) error {
	var p plainSpec
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	p.Raw = append(json.RawMessage(nil), data...)
	*s = AppProjectSpec(p)
	return nil
}

// MarshalJSON returns the decoded JSON unchanged, or the encoded rules of a spec without Raw.
func (s AppProjectSpec) MarshalJSON() ([]byte, error) {
	if s.Raw != nil {
		return s.Raw, nil
	}
	return json.Marshal(plainSpec(s))
}

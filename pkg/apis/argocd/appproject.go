package argocd

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultProject is the project of an Application that names none.
const DefaultProject = "default"

// AppProject is Argo CD's AppProject, as far as Towline looks into it.
//
// +kubebuilder:object:root=true
type AppProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the project's Applications may do.
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

// AppProjectSpec holds the rules that decide where an Application may come from and go. The rest is kept as it is.
type AppProjectSpec struct {
	// Raw is the JSON of the whole spec, untouched.
	Raw json.RawMessage `json:"-"`

	// SourceRepos are patterns of the repositories that may be deployed from; a "!" in front forbids.
	SourceRepos []string `json:"sourceRepos,omitempty"`

	// Destinations are what may be deployed to.
	Destinations []ProjectDestination `json:"destinations,omitempty"`

	// SourceNamespaces are patterns of the namespaces, beside Argo CD's own, whose Applications may use the project.
	SourceNamespaces []string `json:"sourceNamespaces,omitempty"`

	// PermitOnlyProjectScopedClusters asks for a cluster Secret that names the project.
	PermitOnlyProjectScopedClusters bool `json:"permitOnlyProjectScopedClusters,omitempty"`
}

// ProjectDestination is a pattern of destinations. A "!" in front of a field forbids.
type ProjectDestination struct {
	// Server is a pattern of API servers' addresses.
	Server string `json:"server,omitempty"`

	// Name is a pattern of the names by which Argo CD knows clusters.
	Name string `json:"name,omitempty"`

	// Namespace is a pattern of namespaces.
	Namespace string `json:"namespace,omitempty"`
}

// plainSpec has AppProjectSpec's fields but not its methods.
type plainSpec AppProjectSpec

// UnmarshalJSON decodes the rules and keeps the whole.
func (s *AppProjectSpec) UnmarshalJSON(data []byte) error {
	var p plainSpec
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	p.Raw = append(json.RawMessage(nil), data...)
	*s = AppProjectSpec(p)
	return nil
}

// MarshalJSON gives the whole back as it was decoded; of a spec that never was, the rules.
func (s AppProjectSpec) MarshalJSON() ([]byte, error) {
	if s.Raw != nil {
		return s.Raw, nil
	}
	return json.Marshal(plainSpec(s))
}

package argocd

// ResourceStatus is one resource of an Application.
type ResourceStatus struct {
	// Group is the API group of the resource; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Version is the version of the API group.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// Kind is the kind of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Namespace is where the resource is; empty for one that is in none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// Name is the name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Status is one of the Sync… codes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status,omitempty"`

	// Health is nil for a kind of which no health can be told.
	// +optional
	Health *Health `json:"health,omitempty"`

	// Hook is set for a resource that a sync runs and that is no part of the desired state.
	// +optional
	Hook bool `json:"hook,omitempty"`

	// RequiresPruning is set for a resource that is there and is not in Git.
	// +optional
	RequiresPruning bool `json:"requiresPruning,omitempty"`

	// SyncWave orders the sync.
	// +optional
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	SyncWave int64 `json:"syncWave,omitempty"`
}

// Summary is what Argo CD found out about an Application's resources.
type Summary struct {
	// ExternalURLs are the addresses of its Ingresses and Services.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	ExternalURLs []string `json:"externalURLs,omitempty"`

	// Images are the container images that it runs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images,omitempty"`
}

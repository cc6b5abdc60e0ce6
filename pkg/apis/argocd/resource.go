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

	// Namespace is the namespace of the resource; empty for a cluster-scoped resource.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// Name is the name of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Status is a code of SyncCodes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status,omitempty"`

	// Health is the health of the resource; nil for a kind without a health check.
	// +optional
	Health *Health `json:"health,omitempty"`

	// Hook is set for a hook: a sync runs the resource, and the desired state does not contain the resource.
	// +optional
	Hook bool `json:"hook,omitempty"`

	// RequiresPruning is set for a resource on the cluster without a manifest in Git.
	// +optional
	RequiresPruning bool `json:"requiresPruning,omitempty"`

	// SyncWave is the resource's position in the order of the sync.
	// +optional
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	SyncWave int64 `json:"syncWave,omitempty"`
}

// Summary has the addresses and the images of an Application's resources, found by Argo CD.
type Summary struct {
	// ExternalURLs are the addresses of the Application's Ingresses and Services.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	ExternalURLs []string `json:"externalURLs,omitempty"`

	// Images are the container images of the Application.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images,omitempty"`
}

package argocd

// Deployment is an entry of an Application's history: a successful sync. The schema requires ID and DeployedAt.
type Deployment struct {
	// ID is the number of the entry. A newer entry has a greater number.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	ID int64 `json:"id"`

	// Revision is the deployed revision; empty for an Application with several sources.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// Revisions are the deployed revisions of an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// DeployStartedAt is when the sync began.
	// +optional
	// +kubebuilder:validation:Format=date-time
	DeployStartedAt string `json:"deployStartedAt,omitempty"`

	// DeployedAt is when the sync ended.
	// +required
	// +kubebuilder:validation:Format=date-time
	DeployedAt string `json:"deployedAt"`

	// InitiatedBy is the user or the sync policy behind the sync.
	// +optional
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`

	// Source is the source of the sync, for an Application with a single source.
	// +optional
	Source *Source `json:"source,omitempty"`

	// Sources are the sources of the sync, for an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Sources []Source `json:"sources,omitempty"`
}

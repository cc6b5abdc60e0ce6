package argocd

// Deployment is an entry of an Application's history: a sync that went well. The schema requires ID and DeployedAt.
type Deployment struct {
	// ID numbers the entries; it counts up.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	ID int64 `json:"id"`

	// Revision is the revision that was deployed; empty for an Application with several sources.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// Revisions are the revisions that were deployed, for an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// DeployStartedAt is when the sync began.
	// +optional
	// +kubebuilder:validation:Format=date-time
	DeployStartedAt string `json:"deployStartedAt,omitempty"`

	// DeployedAt is when it ended.
	// +required
	// +kubebuilder:validation:Format=date-time
	DeployedAt string `json:"deployedAt"`

	// InitiatedBy tells who asked.
	// +optional
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`

	// Source is where it came from, for an Application with one source.
	// +optional
	Source *Source `json:"source,omitempty"`

	// Sources are where it came from, for an Application with several.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Sources []Source `json:"sources,omitempty"`
}

package argocd

// NeverBegan is the StartedAt of a state that tells of no operation. An Application that has had none has it for the moment in which its
// cluster gets the first one through Maestro (docs/maestro.md).
const NeverBegan = "1970-01-01T00:00:00Z"

// OperationState is the state of an operation. The schema requires Operation, Phase and StartedAt.
type OperationState struct {
	// Operation is what was asked for.
	// +required
	Operation Operation `json:"operation"`

	// Phase is one of the Operation… phases.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase"`

	// Message says how it went, or why it failed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// StartedAt is when the operation began.
	// +required
	// +kubebuilder:validation:Format=date-time
	StartedAt string `json:"startedAt"`

	// FinishedAt is when it ended; empty while it runs. While it waits before it tries again, it is when the last attempt ended.
	// +optional
	// +kubebuilder:validation:Format=date-time
	FinishedAt string `json:"finishedAt,omitempty"`

	// RetryCount is how often it was tried again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RetryCount int64 `json:"retryCount,omitempty"`

	// SyncResult is what the sync did; nil before it did anything.
	// +optional
	SyncResult *SyncResult `json:"syncResult,omitempty"`
}

// Operation is a request to sync, as far as Towline shows it.
type Operation struct {
	// InitiatedBy tells who asked.
	// +optional
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`

	// Sync is what kind of sync it is.
	// +optional
	Sync SyncOperation `json:"sync,omitzero"`
}

// SyncOperation is the part of a sync that its readers need: Argo CD's CLI waits after one that is no dry run for the
// next comparison, which a dry run does not bring.
type SyncOperation struct {
	// DryRun is set for a sync that changes nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// Initiator is who asked for an operation.
type Initiator struct {
	// Username is the user who asked; empty for an automated sync.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username string `json:"username,omitempty"`

	// Automated is set when the sync policy asked.
	// +optional
	Automated bool `json:"automated,omitempty"`
}

// SyncResult is the result of a sync. The schema requires Revision.
type SyncResult struct {
	// Revision is the revision that was synced to; empty for an Application with several sources.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision"`

	// Revisions are the revisions that were synced to, for an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// Resources are what the sync did to each resource, hooks included.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Resources []ResourceResult `json:"resources,omitempty"`
}

// ResourceResult is what a sync did to one resource. The schema requires Group, Version, Kind, Namespace and Name,
// which may be empty.
type ResourceResult struct {
	// Group is the API group of the resource; empty for the core group.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// Version is the version that was applied.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// Kind is the kind of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Namespace is where the resource is; empty for one that is in none.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`

	// Name is the name of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Status is one of the Result… codes; empty for a hook.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status,omitempty"`

	// Message says what was done, or why it failed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// HookType is one of the Hook… types; empty for what is no hook.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	HookType string `json:"hookType,omitempty"`

	// HookPhase is how far a hook, or the resource's health, got: one of the Operation… phases.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	HookPhase string `json:"hookPhase,omitempty"`

	// SyncPhase is the phase of the sync that the resource belongs to: one of the Hook… types.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	SyncPhase string `json:"syncPhase,omitempty"`
}

// ResultCodes are what a sync can make of a resource (gitops-engine, pkg/sync/common).
var ResultCodes = []string{"Synced", "SyncFailed", "Pruned", "PruneSkipped"}

// HookTypes are the phases of a sync, by which hooks are named too (gitops-engine, pkg/sync/common).
var HookTypes = []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip"}

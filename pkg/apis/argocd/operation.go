package argocd

// NeverBegan is the StartedAt of a state without an operation. An Application without an earlier operation has this
// state for a moment, while its cluster gets the first operation through Maestro (docs/maestro.md).
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

// Running returns whether the operation has begun and not ended. A nil state has no operation.
func (o *OperationState) Running() bool {
	return o != nil && (o.Phase == "Running" || o.Phase == "Terminating")
}

// Operation is a request to sync, as far as Towline shows it.
type Operation struct {
	// InitiatedBy tells who asked.
	// +optional
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`

	// Info are notes of whoever asked. Some find their own operation by them, as Kargo does.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Info []Info `json:"info,omitempty"`

	// Sync is what kind of sync it is. It is always written: without it, Argo CD's UI takes the operation for none that it knows.
	// +optional
	Sync SyncOperation `json:"sync"`
}

// Info is a note on an operation.
type Info struct {
	// Name says what the note is.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// Value is the note.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Value string `json:"value"`
}

// SyncOperation is the part of a sync that its readers need: notifications its revision, and Argo CD's CLI whether it is a dry
// run, which no comparison follows.
type SyncOperation struct {
	// Revision is the revision to sync to, and Revisions are those of several sources.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// Revisions are the revisions to sync to, for an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// Prune is set for a sync that deletes what is not in Git any more.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// DryRun is set for a sync that changes nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// SyncOptions are options of this sync.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	SyncOptions []string `json:"syncOptions,omitempty"`

	// Resources are the resources to sync; empty for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Resources []SyncResource `json:"resources,omitempty"`
}

// SyncResource names a resource that a sync is about.
type SyncResource struct {
	// Group is the API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind is the kind of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name is the name of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace is where the resource is; empty for one in the namespace that the Application deploys to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
}

// At returns the sync with its revisions. A sync without revisions gets the revisions of the result.
func (s SyncOperation) At(r *SyncResult) SyncOperation {
	if r != nil && s.Revision == "" && len(s.Revisions) == 0 {
		s.Revision, s.Revisions = r.Revision, r.Revisions
	}
	return s
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

// ResultCodes are the possible results of a sync for a resource (gitops-engine, pkg/sync/common).
var ResultCodes = []string{"Synced", "SyncFailed", "Pruned", "PruneSkipped"}

// HookTypes are the phases of a sync. Hooks have the same names (gitops-engine, pkg/sync/common).
var HookTypes = []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip"}

package argocd

// NeverBegan is the StartedAt of a state without an operation. An Application without an earlier operation has this
// state for a moment, while its cluster gets the first operation through Maestro (docs/maestro.md).
const NeverBegan = "1970-01-01T00:00:00Z"

// OperationState is the state of an operation. The schema requires Operation, Phase and StartedAt.
type OperationState struct {
	// Operation is the requested operation.
	// +required
	Operation Operation `json:"operation"`

	// Phase is a phase of OperationPhases.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase"`

	// Message describes the result of the operation, or the cause of the failure.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// StartedAt is when the operation began.
	// +required
	// +kubebuilder:validation:Format=date-time
	StartedAt string `json:"startedAt"`

	// FinishedAt is when the operation ended; empty while the operation runs. Between two attempts, FinishedAt is the end of the
	// last attempt.
	// +optional
	// +kubebuilder:validation:Format=date-time
	FinishedAt string `json:"finishedAt,omitempty"`

	// RetryCount is the number of retries of the operation.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RetryCount int64 `json:"retryCount,omitempty"`

	// SyncResult is the result of the sync; nil before the first result.
	// +optional
	SyncResult *SyncResult `json:"syncResult,omitempty"`
}

// Running returns whether the operation has begun and not ended. A nil state has no operation.
func (o *OperationState) Running() bool {
	return o != nil && (o.Phase == "Running" || o.Phase == "Terminating")
}

// Terminating returns whether the operation was asked to stop. A nil state has no operation.
func (o *OperationState) Terminating() bool { return o != nil && o.Phase == "Terminating" }

// Operation is a request to sync, as far as Towline shows it.
type Operation struct {
	// InitiatedBy is the user or the sync policy behind the operation.
	// +optional
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`

	// Info are notes of the initiator. Programs like Kargo recognize their operations by these notes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Info []Info `json:"info,omitempty"`

	// Sync is the requested sync. Towline always writes the field, because Argo CD's UI does not recognize an operation without
	// the field.
	// +optional
	Sync SyncOperation `json:"sync"`
}

// Info is a note on an operation.
type Info struct {
	// Name is the name of the note.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// Value is the text of the note.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Value string `json:"value"`
}

// SyncOperation has the fields of a sync for Argo CD's notifications and CLI. Notifications need the revision. The CLI needs
// DryRun, because no comparison follows a dry run.
type SyncOperation struct {
	// Revision is the revision to sync to; empty for an Application with several sources.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// Revisions are the revisions to sync to, for an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// Prune is set for a sync with deletion of resources without a manifest in Git.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// DryRun is set for a sync without changes on the cluster.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`

	// SyncOptions are the options of the sync.
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

// SyncResource names a resource to sync.
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

	// Namespace is the namespace of the resource; empty for a resource in the Application's destination namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
}

// At returns the sync with its revisions. A sync without revisions gets the revisions of the result.
func (s SyncOperation) At(r *SyncResult) SyncOperation {
	if r != nil && !s.Resolved() {
		s.Revision, s.Revisions = r.Revision, r.Revisions
	}
	return s
}

// Resolved returns whether the sync has revisions.
func (s SyncOperation) Resolved() bool { return s.Revision != "" || len(s.Revisions) > 0 }

// Initiator is the user or the sync policy behind an operation.
type Initiator struct {
	// Username is the name of the user; empty for an automated sync.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Username string `json:"username,omitempty"`

	// Automated is set for an operation of the sync policy.
	// +optional
	Automated bool `json:"automated,omitempty"`
}

// SyncResult is the result of a sync. The schema requires Revision.
type SyncResult struct {
	// Revision is the synced revision; empty for an Application with several sources.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision"`

	// Revisions are the synced revisions of an Application with several sources.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Revisions []string `json:"revisions,omitempty"`

	// Resources are the results of the sync for each resource, hooks included.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Resources []ResourceResult `json:"resources,omitempty"`
}

// ResourceResult is the result of a sync for a single resource. The schema requires Group, Version, Kind, Namespace and Name,
// and accepts empty values.
type ResourceResult struct {
	// Group is the API group of the resource; empty for the core group.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// Version is the applied API version.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// Kind is the kind of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Namespace is the namespace of the resource; empty for a cluster-scoped resource.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`

	// Name is the name of the resource.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Status is a code of ResultCodes; empty for a hook.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Status string `json:"status,omitempty"`

	// Message describes the result of the sync for the resource, or the cause of the failure.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// HookType is a type of HookTypes; empty for a resource without a hook.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	HookType string `json:"hookType,omitempty"`

	// HookPhase is the phase of a hook or of the resource's health: a phase of OperationPhases.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	HookPhase string `json:"hookPhase,omitempty"`

	// SyncPhase is the resource's phase of the sync: a type of HookTypes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	SyncPhase string `json:"syncPhase,omitempty"`
}

// ResultCodes are the possible results of a sync for a resource (gitops-engine, pkg/sync/common).
var ResultCodes = []string{"Synced", "SyncFailed", "Pruned", "PruneSkipped"}

// HookTypes are the phases of a sync. Hooks have the same names (gitops-engine, pkg/sync/common).
var HookTypes = []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip"}

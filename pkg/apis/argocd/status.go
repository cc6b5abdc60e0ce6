package argocd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is the part of an Application's status that Towline writes on the hub. Every field can be missing:
// what was not observed is not written. Times are RFC 3339 strings, as the API has them; a Go time would lose
// nothing but would have to be allocated and formatted for every comparison.
type Status struct {
	// Health is the health of everything that the Application deployed, taken together.
	Health Health `json:"health,omitzero"`

	// Sync tells whether the cluster has what Git says, and which revision was compared.
	Sync *Sync `json:"sync,omitempty"`

	// OperationState is the last operation, finished or running.
	OperationState *OperationState `json:"operationState,omitempty"`

	// ReconciledAt is when the cluster's Argo CD last compared with Git.
	ReconciledAt string `json:"reconciledAt,omitempty"`

	// Conditions are errors and warnings. The list has no merge key in Argo CD's schema: it is replaced whole.
	Conditions []Condition `json:"conditions,omitempty"`

	// Resources are what the Application consists of, also what is missing or failed. Replaced whole as well.
	Resources []ResourceStatus `json:"resources,omitempty"`

	// Summary is what Argo CD found out about the resources.
	Summary *Summary `json:"summary,omitempty"`
}

// ResourceStatus is one resource of an Application.
type ResourceStatus struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`

	// Status is one of the Sync… codes.
	Status string `json:"status,omitempty"`

	// Health is nil for a kind of which no health can be told.
	Health *Health `json:"health,omitempty"`

	// Hook is set for a resource that a sync runs and that is no part of the desired state.
	Hook bool `json:"hook,omitempty"`

	// RequiresPruning is set for a resource that is there and is not in Git.
	RequiresPruning bool `json:"requiresPruning,omitempty"`

	// SyncWave orders the sync.
	SyncWave int64 `json:"syncWave,omitempty"`
}

// Summary is what Argo CD found out about an Application's resources.
type Summary struct {
	// ExternalURLs are the addresses of its Ingresses and Services.
	ExternalURLs []string `json:"externalURLs,omitempty"`

	// Images are the container images that it runs.
	Images []string `json:"images,omitempty"`
}

// Health is a health code with what explains it.
type Health struct {
	// Status is one of the Health… codes.
	Status string `json:"status,omitempty"`

	// Message explains the code, where Argo CD gives a reason.
	Message string `json:"message,omitempty"`

	// LastTransitionTime is when the code last changed (Argo CD 2.13 and later).
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}

// Sync is the outcome of the last comparison. The schema requires Status.
type Sync struct {
	// Status is one of the Sync… codes.
	Status string `json:"status"`

	// Revision is the compared revision of an Application with one source.
	Revision string `json:"revision,omitempty"`

	// Revisions are the compared revisions of an Application with several sources, in their order.
	Revisions []string `json:"revisions,omitempty"`
}

// OperationState is the state of an operation. The schema requires Operation, Phase and StartedAt.
type OperationState struct {
	// Operation is what was asked for.
	Operation Operation `json:"operation"`

	// Phase is one of the Operation… phases.
	Phase string `json:"phase"`

	// Message says how it went, or why it failed.
	Message string `json:"message,omitempty"`

	// StartedAt is when the operation began.
	StartedAt string `json:"startedAt"`

	// FinishedAt is when it ended; empty while it runs.
	FinishedAt string `json:"finishedAt,omitempty"`

	// RetryCount is how often it was tried again.
	RetryCount int64 `json:"retryCount,omitempty"`

	// SyncResult is what the sync did; nil before it did anything.
	SyncResult *SyncResult `json:"syncResult,omitempty"`
}

// Operation is a request to sync, as far as Towline shows it.
type Operation struct {
	// InitiatedBy tells who asked.
	InitiatedBy *Initiator `json:"initiatedBy,omitempty"`
}

// Initiator is who asked for an operation.
type Initiator struct {
	// Username is the user who asked; empty for an automated sync.
	Username string `json:"username,omitempty"`

	// Automated is set when the sync policy asked.
	Automated bool `json:"automated,omitempty"`
}

// SyncResult is the result of a sync. The schema requires Revision.
type SyncResult struct {
	// Revision is the revision that was synced to; empty for an Application with several sources.
	Revision string `json:"revision"`

	// Revisions are the revisions that were synced to, for an Application with several sources.
	Revisions []string `json:"revisions,omitempty"`
}

// Condition is an error or a warning. The schema requires Type and Message.
type Condition struct {
	// Type names the kind of problem; it ends in Error or Warning.
	Type string `json:"type"`

	// Message is for people.
	Message string `json:"message"`

	// LastTransitionTime is when the condition appeared or last changed.
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// HealthCodes are the health codes of Argo CD 2 and 3 (gitops-engine, pkg/health).
var HealthCodes = []string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}

// SyncCodes are the sync codes of Argo CD 2 and 3.
var SyncCodes = []string{"Synced", "OutOfSync", "Unknown"}

// OperationPhases are the phases of an operation of Argo CD 2 and 3 (gitops-engine, pkg/sync/common).
var OperationPhases = []string{"Running", "Terminating", "Succeeded", "Failed", "Error"}

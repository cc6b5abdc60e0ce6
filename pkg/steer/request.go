package steer

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Verb is an action on an Application.
type Verb string

// The verbs.
const (
	Sync    Verb = "sync"
	Refresh Verb = "refresh"
	Stop    Verb = "stop"
	Pause   Verb = "pause"
	Resume  Verb = "resume"
	Release Verb = "release"
	Adopt   Verb = "adopt"
	Move    Verb = "move"
	Delete  Verb = "delete"
)

// Verbs are all verbs.
var Verbs = []Verb{Sync, Refresh, Stop, Pause, Resume, Release, Adopt, Move, Delete}

// Request is a person's request. Fields without meaning for the verb are ignored.
type Request struct {
	// Verb is the requested action.
	Verb Verb

	// Revision, Prune, Preview and Apply are for a sync. Revision is a different revision. Prune deletes resources that
	// Git no longer has. Preview changes no resource. Apply skips hooks.
	Revision              string
	Prune, Preview, Apply bool

	// User is the name of the person that Argo CD shows as the initiator of a sync.
	User string

	// Hard makes a refresh render the manifests again.
	Hard bool

	// Undo cancels a release.
	Undo bool

	// Policy is the policy of an adoption: one of pkg/delivery's AdoptModes.
	Policy string

	// To is the target cluster of a move.
	To string

	// Cascade is whether a deletion includes the deployed resources; nil if the Application's finalizers decide.
	Cascade *bool

	// Force lets a deletion finish without the confirmation of the cluster.
	Force bool
}

// Facts are the read facts of the hub.
type Facts struct {
	// App is the Application.
	App *argocd.Application

	// Set is the ApplicationSet that made the Application; nil for none.
	Set *Set

	// AdoptNever is true if Towline runs with --adopt=never. No Application overrides this flag.
	AdoptNever bool

	// NoCluster is true if the hub has no ManagedCluster with the name of the move's target.
	NoCluster bool
}

// Change is a change of an object on the hub.
type Change struct {
	// Patch is a merge patch, for the read version only; nil for none.
	Patch json.RawMessage

	// Delete is true if the object must be deleted after the patch.
	Delete bool

	// Message describes the requested action.
	Message string

	// Confirm describes the effect on running resources, for the person; empty for no effect.
	Confirm string

	// MustConfirm is true if a person must confirm first, because the effect is permanent.
	MustConfirm bool

	// Awaits describes the sign of a completed change.
	Awaits string
}

// Refusal is the reason for a refused request.
type Refusal struct {
	// Message names the object and the problem.
	Message string

	// Do is the alternative: commands, or lines of a manifest; empty for none.
	Do string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

package steer

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Verb is what to do about an Application.
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

// Verbs are all of them.
var Verbs = []Verb{Sync, Refresh, Stop, Pause, Resume, Release, Adopt, Move, Delete}

// Request is what a person asks for. A field that the verb does not have is not looked at.
type Request struct {
	// Verb is what to do.
	Verb Verb

	// Revision, Prune, Preview and Apply are those of a sync: another revision, whether to delete what Git does not have any more,
	// whether to change nothing, and whether to leave hooks out.
	Revision              string
	Prune, Preview, Apply bool

	// User is who asks for a sync, as Argo CD shows it.
	User string

	// Hard asks a refresh to render the manifests anew.
	Hard bool

	// Undo takes a release back.
	Undo bool

	// Policy is that of an adoption: one of pkg/delivery's AdoptModes.
	Policy string

	// To is the cluster of a move.
	To string

	// Cascade tells whether a deletion takes along what the Application deployed; nil for what its finalizers say.
	Cascade *bool

	// Force lets a deletion go on without the cluster's word.
	Force bool
}

// Facts are what was read of the hub.
type Facts struct {
	// App is the Application.
	App *argocd.Application

	// Set is the ApplicationSet that made it; nil for none.
	Set *Set

	// AdoptNever is set where Towline runs with --adopt=never, which no Application lifts.
	AdoptNever bool

	// NoCluster is set where the hub has no ManagedCluster to move to.
	NoCluster bool
}

// Change is what to write.
type Change struct {
	// Patch is a merge patch, for the version only that was read; nil for none.
	Patch json.RawMessage

	// Delete is set where the object is to be deleted then.
	Delete bool

	// Message says what is asked for.
	Message string

	// Confirm is what becomes of what runs, which a person should know; empty where nothing does.
	Confirm string

	// Asks is set where a person is to agree to that first, as it cannot be taken back.
	Asks bool

	// Awaits says what shows that it has been done.
	Awaits string
}

// Refusal says why nothing is written.
type Refusal struct {
	// Message names the object, and what is wrong.
	Message string

	// Do is what to do in its place: commands, or lines of a manifest; empty for nothing.
	Do string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

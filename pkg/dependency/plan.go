package dependency

import (
	"time"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Plan is the result of a decision about a dependency's work. For objects, it also has the patch of the Application.
type Plan struct {
	// Intent is the decision about the work.
	Intent Intent

	// Required are missing facts. Do not apply a plan with missing facts: read the facts, and decide again.
	Required FactSet

	// Err is an error that prevents a decision; nil for none.
	Err error

	// Step is the single write of the work; nil for none.
	Step *Step

	// Hub is the patch of the Application; nil for none. Send Events after the patch.
	Hub    *argocd.Patch
	Events []Event

	// Problem is the reason of the Application's failing dependency; empty for none. If Silent is set, the present
	// problem stays.
	Problem string
	Silent  bool

	// Refresh is the next memory of refresh requests for the Application; nil leaves the memory as is.
	Refresh *Refresh

	// After is when to decide again without a change; zero for never.
	After time.Duration
}

// Step is a write of a work.
type Step struct {
	work.Write

	// Final is set for the last state of a work before its deletion.
	Final bool
}

// Event is an event for the users of an object.
type Event struct {
	// On is the AppProject or the Secret of the event; nil for the Application.
	On Object

	// Reason and Note are the fields of events.k8s.io/v1.
	Reason, Note string
}

// Destroys returns a write with possible loss: objects may leave the cluster, or lose the work on the hub; nil for
// none. The caller must decide a second time from facts read past the cache. It may apply the plan only if both plans
// destroy the same.
func (p *Plan) Destroys() []string {
	if p.Step == nil || p.Step.Verb != work.VerbDelete && !p.Step.Final {
		return nil
	}
	return []string{p.Step.String()}
}

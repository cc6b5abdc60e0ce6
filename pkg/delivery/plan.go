package delivery

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// Plan contains the actions for an Application.
type Plan struct {
	// Intent is the present purpose of the Application.
	Intent Intent

	// Required are the facts that the decision needs first. A plan with required facts must not be applied.
	Required FactSet

	// Steps are the writes of works, in any order. A failed step does not prevent the others.
	Steps []Step

	// Hub is the only patch of the hub's Application; nil for none. The patch follows the steps, unless TellFirst is
	// set. TellFirst is for a patch that removes an operation: only the leaving work stores that the operation may
	// have run.
	Hub       *argocd.Patch
	TellFirst bool

	// Events are sent after the patch.
	Events []Event

	// Conditions are the conditions of propagation for the Application.
	Conditions []Condition

	// Silent is true if the present conditions of the Application stay for now.
	Silent bool

	// Wait is the time of the next decision without a change.
	Wait Wait

	// Refreshed is the result of a user's refresh, if the plan removes the refresh from the hub: RefreshAnswered or
	// RefreshDropped. Empty for no removed refresh.
	Refreshed string

	// Trace are the answers of the gates, in order.
	Trace []gate.TraceEntry
}

// Results of a user's refresh.
const (
	// RefreshAnswered: the cluster has compared the Application after the refresh.
	RefreshAnswered = "Succeeded"
	// RefreshDropped: the refresh was not sent, or not answered in time.
	RefreshDropped = "Dropped"
)

// Wait is the time of the next decision. The zero value: after the next change.
type Wait struct {
	// After is the time from now; zero for never.
	After time.Duration

	// Backoff is true if no event announces the end of the wait. The intervals then grow.
	Backoff bool
}

// and returns the shorter of two waits, with backoff if either wait has backoff.
func (w Wait) and(o Wait) Wait {
	return Wait{After: gate.Sooner(w.After, o.After), Backoff: w.Backoff || o.Backoff}
}

// Step is one write of a work.
type Step struct {
	work.Write

	// Takes is true if the write makes the cluster's agent remove the delivered Application.
	Takes bool

	// Alone is true for the creation of a work whose Application must not run on two clusters.
	Alone bool

	// Revokes is true for the deletion of a work whose Application has lost the right to the cluster.
	Revokes bool

	// Rejects is true if a refusal of the write is to appear on the Application: see Facts.Refusal.
	Rejects bool

	// Log is the text for the log.
	Log string

	// Events are sent after a successful write.
	Events []Event
}

// Condition is a condition for the Application.
type Condition struct {
	// Type is the condition's type.
	Type string

	// Reason is the reason of the event for a new condition; empty for no event.
	Reason string

	// Message is the problem, the object, and the required action.
	Message string
}

// Event is a Kubernetes event for users.
type Event struct {
	// On is the work of the event; nil for the Application. Related is the related work; nil for none.
	On, Related *workv1.ManifestWork

	// Warning is true for a problem that needs a user's attention.
	Warning bool

	// Reason, Action and Note are the fields of events.k8s.io/v1.
	Reason, Action, Note string
}

// Destroys returns the dangerous writes of the plan; empty for none. A dangerous write may remove objects from a
// cluster or drop the last hold of the hub on an Application. A dangerous creation may make an Application run on two
// clusters: an earlier leader may have moved the Application already. The caller must make such a plan again from
// facts read past the cache, and apply the plan only with an equal result.
func (p *Plan) Destroys() []string {
	var out []string
	for _, s := range p.Steps {
		switch {
		case s.Verb == work.VerbDelete || s.Takes:
			out = append(out, s.String())
		case s.Alone:
			there := work.Resource(s.Work).Namespace // for other creations, the target in the cache decides
			out = append(out, string(s.Verb)+" "+s.Work.Namespace+"/"+there)
		}
	}
	slices.Sort(out)
	if p.Hub != nil && p.Hub.Finalizers != nil {
		out = append(out, "drop finalizers")
	}
	return out
}

// Blocked returns the reason for which the Application counts as blocked; empty for an Application that is not
// blocked.
func (p *Plan) Blocked() string {
	for _, c := range p.Conditions {
		if !c.notice() || c.Type == paused {
			return c.Reason
		}
	}
	return ""
}

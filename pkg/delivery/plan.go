package delivery

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// Plan is what is to be done about an Application.
type Plan struct {
	// Intent is what the Application is there for now.
	Intent Intent

	// Need are facts without which nothing can be decided. A plan that needs some is not to be applied.
	Need Need

	// Steps are the writes of works, in any order. One that fails keeps no other from being made.
	Steps []Step

	// Hub is the one patch of the hub's Application; nil for none. It is made after the steps, unless TellFirst is set: a work that goes
	// alone remembers what the patch takes off.
	Hub       *argocd.Patch
	TellFirst bool

	// Events are told after that.
	Events []Event

	// Conditions are what the Application is to show of propagation.
	Conditions []Condition

	// Silent is set when what the Application shows stays as it is for now.
	Silent bool

	// Wait is when to look again though nothing has changed.
	Wait Wait

	// Refreshed is how a user's refresh ended that the plan takes off the hub: RefreshAnswered or RefreshDropped; empty for none.
	Refreshed string

	// Trace are the gates that were asked, in order.
	Trace []gate.Said
}

// How the refresh of a user ends.
const (
	// RefreshAnswered is for one after which the cluster has compared.
	RefreshAnswered = "Succeeded"
	// RefreshDropped is for one that was not sent, or not answered in time.
	RefreshDropped = "Dropped"
)

// Wait is when to look again. The zero value: when something changes.
type Wait struct {
	// After is how long from now; zero for never.
	After time.Duration

	// Backoff is set when nothing tells when to look again: ever slower, then.
	Backoff bool
}

// and is the sooner of two waits.
func (w Wait) and(o Wait) Wait {
	return Wait{After: soonest(w.After, o.After), Backoff: w.Backoff || o.Backoff}
}

// soonest is the shorter of two waits, where zero is for ever.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Step is one write of a work.
type Step struct {
	work.Write

	// Takes is set when the write makes the cluster's agent remove what the work has brought.
	Takes bool

	// Alone is set for the making of a work of an Application that must not run on two clusters.
	Alone bool

	// Revokes is set for the deletion of a work that its Application has lost the right to.
	Revokes bool

	// Rejects is set when a refusal of the write is to be shown on the Application: see Facts.Refusal.
	Rejects bool

	// Log says for the log what was done.
	Log string

	// Events are told when the write has succeeded.
	Events []Event
}

// Condition is what the Application is to show.
type Condition struct {
	// Type is the condition's type.
	Type string

	// Reason is that of the event that comes with it when it is new; empty for none.
	Reason string

	// Message is what happened, on which object, and what to do.
	Message string
}

// Event is what people should see on an object.
type Event struct {
	// On is the work that it is about; nil for the Application. Related is the work that has a part in it; nil for none.
	On, Related *workv1.ManifestWork

	// Warning is set for what somebody has to look at.
	Warning bool

	// Reason, Action and Note are those of events.k8s.io/v1.
	Reason, Action, Note string
}

// Destroys are the writes by which something may go from a cluster, or nothing on the hub holds it any more, or an Application may
// come to run on two clusters that must not: another process may have led, and have moved it. It is empty for a plan that has
// none. Such a plan is to be made again from facts read past the cache, and to be applied only if it comes to the same.
func (p *Plan) Destroys() []string {
	var out []string
	for _, s := range p.Steps {
		switch {
		case s.Verb == work.VerbDelete || s.Takes:
			out = append(out, s.String())
		case s.Alone:
			there := s.Work.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace // others go by the target that the cache has
			out = append(out, string(s.Verb)+" "+s.Work.Namespace+"/"+there)
		}
	}
	slices.Sort(out)
	if p.Hub != nil && p.Hub.Finalizers != nil {
		out = append(out, "drop finalizers")
	}
	return out
}

// Blocked is the reason for which the Application counts as one that cannot be sent; empty where it does not.
func (p *Plan) Blocked() string {
	for _, c := range p.Conditions {
		if !c.notice() || c.Type == paused {
			return c.Reason
		}
	}
	return ""
}

package dependency

import (
	"time"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// Plan is what is to be done about a dependency's work, and for objects about the Application that names them.
type Plan struct {
	// Intent is what becomes of the work.
	Intent Intent

	// Need are facts without which nothing can be decided. A plan that needs some is not to be applied.
	Need Need

	// Err is why nothing can be decided; nil where something can.
	Err error

	// Step is the one write of the work; nil for none.
	Step *Step

	// Hub is the one patch of the Application; nil for none. Events are told after it.
	Hub    *argocd.Patch
	Events []Event

	// Problem is the reason for which the Application counts as one with a dependency that fails; empty for none. It stays as
	// it is while Silent is set.
	Problem string
	Silent  bool

	// Refresh is what is to be remembered of requests for a refresh of the Application; nil: what is remembered stays.
	Refresh *Refresh

	// After is when to look again though nothing has changed; zero for never.
	After time.Duration

	// Trace are the gates that were asked, in order.
	Trace []gate.Said
}

// Step is one write of a work.
type Step struct {
	work.Write

	// Final is set for the last state of a work that is to be deleted after it.
	Final bool
}

// Event is what people should see on an object.
type Event struct {
	// On is the AppProject or the Secret that it is about; nil for the Application.
	On Object

	// Reason and Note are those of events.k8s.io/v1.
	Reason, Note string
}

// Destroys is the write by which something may go from the cluster, or nothing on the hub holds it any more; none for a
// plan that has none. Such a plan is to be made again from facts read past the cache, and to be applied only if it comes to
// the same.
func (p *Plan) Destroys() []string {
	if p.Step == nil || p.Step.Verb != work.VerbDelete && !p.Step.Final {
		return nil
	}
	return []string{p.Step.String()}
}

package dependency

import (
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
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
	Trace []Answer
}

// Verb is what a step does to a work.
type Verb string

// The verbs of steps, as metrics name them.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Step is one write of a work.
type Step struct {
	Verb Verb

	// Was is the work as it was read; nil for one to be created. The write is bound to its UID and resourceVersion.
	Was *workv1.ManifestWork

	// Work is the work as it is to be; nil for one to be deleted.
	Work *workv1.ManifestWork

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

// Answer is what a gate said.
type Answer struct {
	// Gate is its name.
	Gate string

	// Holds is why it holds; empty where it is open.
	Holds string
}

// Destroys is the write by which something may go from the cluster, or nothing on the hub holds it any more; empty for a
// plan that has none. Such a plan is to be made again from facts read past the cache, and to be applied only if it comes to
// the same.
func (p *Plan) Destroys() string {
	if p.Step == nil || p.Step.Verb != Delete && !p.Step.Final {
		return ""
	}
	return string(p.Step.Verb) + " " + string(p.Step.Was.UID)
}

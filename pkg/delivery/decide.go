package delivery

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
)

// Intent is the present purpose of an Application.
type Intent string

// Intents of Applications.
const (
	// Await: the cache does not show the Application yet.
	Await Intent = ""
	// Deliver: the Application is to be on its cluster.
	Deliver Intent = "deliver"
	// Release: the Application asks for its release. The clusters keep everything.
	Release Intent = "release"
	// Disown: the Application has lost the pull label. Towline releases the Application, regardless of its
	// annotations.
	Disown Intent = "disown"
	// End: the Application is in deletion.
	End Intent = "delete"
	// HandBack: the Application is in deletion, and the hub's own Argo CD is responsible for the Application.
	HandBack Intent = "hand back"
	// Orphan: works exist, and the hub has no Application for the works.
	Orphan Intent = "orphan"
)

// decision is an unfinished plan, with the view of the facts.
type decision struct {
	view
	plan Plan

	// refresh is the refresh warning for the Application: empty for no warning, nil for no change. refreshOver is
	// true if the request is to be removed from the hub's Application.
	refresh     *string
	refreshOver bool

	// sendable is true if nothing blocks the delivery of the Application.
	sendable bool
}

// usualAnswers is the approximate number of gates in one decision.
const usualAnswers = 32

// Decide returns the plan for an Application.
func Decide(f Facts, o Options) Plan {
	if f.App != nil {
		f.App = f.Clusters[f.App.Cluster()].Reading(f.App)
	}
	d := &decision{view: newView(&f, o)}
	d.plan.Trace = make([]gate.TraceEntry, 0, usualAnswers)
	d.plan.Intent = intentOf(&f)
	kept, pending, stops := d.revoke() // the author's settings do not keep a work without a right
	switch {
	case stops:
	case d.plan.Intent == Orphan:
		d.orphan()
	case d.plan.Intent == Disown:
		d.disown()
	case d.plan.Intent == Deliver:
		d.deliver()
	case d.plan.Intent == Release:
		d.release()
	case d.plan.Intent == End:
		d.end()
	case d.plan.Intent == HandBack:
		d.handBack()
	}
	d.withdrawFromDeleted()
	d.freeze()
	if len(d.plan.Conditions) > 0 {
		pending = append(kept, pending...)
	}
	for _, b := range pending {
		d.plan.addCondition(b)
	}
	d.show()
	return d.plan
}

// intentOf returns the present purpose of the Application.
func intentOf(f *Facts) Intent {
	switch {
	case f.Presence == Behind:
		return Await
	case f.Presence == Gone:
		return Orphan
	case !f.App.Pulled():
		return Disown
	case f.App.DeletionTimestamp.IsZero() && f.App.ToBeReleased():
		return Release
	case f.App.DeletionTimestamp.IsZero():
		return Deliver
	case f.App.ReconcileSkipped():
		return End
	}
	return HandBack
}

// noOperationState removes the operation from the status.
var noOperationState = json.RawMessage(`{"operationState":null}`)

// show updates the conditions of the Application to the conditions of the plan. Each new condition with a reason gets
// an event.
func (d *decision) show() {
	if d.App == nil || d.plan.Required != 0 {
		return
	}
	before, now := d.App.Status.Conditions, metav1.NewTime(d.Now)
	after := before
	if d.refresh != nil {
		after = refreshing(after, *d.refresh, now)
	}
	if d.refreshOver {
		d.plan.hub().Annotations = map[string]*string{apis.AnnotationRefresh: nil}
	}
	if !d.plan.Silent {
		after = showing(after, d.plan.Conditions, now)
	}
	if slices.Equal(after, before) {
		return
	}
	d.plan.hub().Conditions = after
	for _, c := range d.plan.Conditions {
		if c.endsRelease() && d.App.Status.OperationState.Running() {
			d.plan.hub().Status = noOperationState
		}
		if c.Reason != "" && !slices.ContainsFunc(before, c.shownBy) {
			d.plan.Events = append(d.plan.Events, c.event())
		}
	}
}

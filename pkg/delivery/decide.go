package delivery

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// Intent is what an Application is there for now.
type Intent string

// Intents of Applications.
const (
	// Await is for one that the cache does not show yet.
	Await Intent = ""
	// Deliver is for one that asks to be on its cluster.
	Deliver Intent = "deliver"
	// Release is for one that asks to be released: the clusters keep all.
	Release Intent = "release"
	// Disown is for one that has lost the pull label: it is released, whatever else it says.
	Disown Intent = "disown"
	// End is for one that is being deleted.
	End Intent = "delete"
	// HandBack is for one that is being deleted and that the hub's own Argo CD answers for.
	HandBack Intent = "hand back"
	// Orphan is for works whose Application is gone from the hub.
	Orphan Intent = "orphan"
)

// decision is a plan in the making, with the view that it is made from.
type decision struct {
	view
	plan Plan

	// refresh is what the Application is to show of a refresh, empty for nothing; nil to leave what it shows. refreshOver is set when
	// the request goes from the hub.
	refresh     *string
	refreshOver bool

	// sendable is set when no check and no step keeps the Application from being sent.
	sendable bool
}

// usualAnswers is about how many gates are asked for a decision.
const usualAnswers = 32

// Decide is what is to be done about an Application.
func Decide(f Facts, o Options) Plan {
	d := &decision{view: view{Facts: &f, Options: o, going: map[types.UID]bool{}}}
	d.plan.Trace = make([]gate.Said, 0, usualAnswers)
	d.plan.Intent = intentOf(&f)
	kept, pending, stops := d.revoke() // whatever the Application's author decides does not keep what lost its right
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

// intentOf is what the Application is there for now.
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

// delete asks for the deletion of a work, and tells of it.
func (d *decision) delete(s *subject, as ending) {
	d.plan.addStep(Step{Write: work.Deletion(s.ManifestWork), Log: as.log, Events: as.of(s)})
	d.going[s.UID] = true
}

// noOperationState takes off what the status shows of an operation.
var noOperationState = json.RawMessage(`{"operationState":null}`)

// show makes the Application's conditions say what is to be told, and no more. An event comes with what is new.
func (d *decision) show() {
	if d.App == nil || d.plan.Need != 0 {
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

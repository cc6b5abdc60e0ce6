package delivery

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// Intent is what an Application, or one of its works, is there for now.
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

// Intents of works.
const (
	// Remove takes the Application off the cluster of the work, with what it deployed where it says so.
	Remove Intent = "remove"
	// Revoke does so for a right that is lost: nothing that the cluster has or refuses keeps the work.
	Revoke Intent = "revoke"
	// Missing is for a right that nobody gives any more, and Refused for one that somebody refuses: Revoke comes after that.
	Missing Intent = "missing"
	Refused Intent = "refused"
	// Drop deletes the work alone: another has the Application there, or nobody waits for the cluster.
	Drop Intent = "drop"
	// Leave releases the Application: the cluster keeps all.
	Leave Intent = "leave"
	// Keep leaves the work as it is, for an Application that the hub has lost.
	Keep Intent = "keep"
)

// decision is a plan in the making. Its methods read facts and add to the plan.
type decision struct {
	*Facts
	Options

	plan Plan

	// going are the works whose deletion the plan asks for.
	going map[types.UID]bool

	// refresh is what to tell of a refresh, empty for nothing; nil to leave what is told. over is set when its request goes.
	refresh *string
	over    bool

	// to is the Application where its work may have it now.
	to *argocd.Application

	// mine is the own work if it brings the Application to its target, once asked is set: what it carries is read for that.
	mine  *workv1.ManifestWork
	asked bool

	// withheld is why the requested operation may not travel; nil when it may.
	withheld *hold

	// sendable is set when no gate keeps the Application from being sent.
	sendable bool
}

// usualAnswers is about how many gates are asked for a decision.
const usualAnswers = 32

// Decide is what is to be done about an Application.
func Decide(f Facts, o Options) Plan {
	d := &decision{Facts: &f, Options: o, to: f.App, going: map[types.UID]bool{}}
	d.plan.Trace = make([]gate.Said, 0, usualAnswers)
	d.plan.Intent = d.intent()
	kept, pending, stops := d.revoke() // whatever the Application's author decides does not keep what lost its right
	if !stops {
		d.follow()
	}
	d.withdrawGoing()
	d.freeze()
	if len(d.plan.Conditions) > 0 {
		pending = append(kept, pending...)
	}
	for _, h := range pending {
		d.say(h)
	}
	d.show()
	return d.plan
}

// intent is what the Application is there for now.
func (d *decision) intent() Intent {
	switch {
	case d.Presence == Behind:
		return Await
	case d.Presence == Gone:
		return Orphan
	case !d.App.Pulled():
		return Disown
	case d.App.DeletionTimestamp.IsZero() && d.App.ToBeReleased():
		return Release
	case d.App.DeletionTimestamp.IsZero():
		return Deliver
	case d.App.ReconcileSkipped():
		return End
	}
	return HandBack
}

// follow does what the Application is there for, where it may.
func (d *decision) follow() {
	switch d.plan.Intent {
	case Orphan:
		d.orphan()
	case Disown:
		d.disown()
	case Deliver:
		d.deliver()
	case Release:
		d.release()
	case End:
		d.end()
	case HandBack:
		d.handBack()
	}
}

// lacks tells whether facts have to be read first, and asks for them.
func (d *decision) lacks(n Need) bool {
	missing := n &^ d.Known
	d.plan.Need |= missing
	return missing != 0
}

// say shows a hold and waits for its end. Of those of one condition the second goes behind the first, or stands for it where it
// says all of that.
func (d *decision) say(h *hold) {
	d.wait(h.Wait)
	if h.Type == "" {
		return
	}
	i := slices.IndexFunc(d.plan.Conditions, func(c Condition) bool { return c.Type == h.Type })
	if i < 0 {
		d.plan.Conditions = append(d.plan.Conditions, h.Condition)
		return
	}
	c := &d.plan.Conditions[i]
	if c.Reason = h.Reason; strings.Contains(h.Message, c.Message) {
		c.Message = h.Message
	} else {
		c.Message += "; " + h.Message
	}
}

func (d *decision) wait(w Wait) { d.plan.Wait = d.plan.Wait.and(w) }

// hub is the patch of the hub's Application.
func (d *decision) hub() *argocd.Patch {
	if d.plan.Hub == nil {
		d.plan.Hub = &argocd.Patch{Exact: true}
	}
	return d.plan.Hub
}

// step adds a write of a work. A work is written once; its deletion stands for all else.
func (d *decision) step(s Step) {
	i := d.stepOf(s.Was)
	switch {
	case i < 0:
		d.plan.Steps = append(d.plan.Steps, s)
	case s.Verb == work.VerbDelete && d.plan.Steps[i].Verb != work.VerbDelete:
		d.plan.Steps[i] = s
	}
}

// update changes a work, a copy of what it was. It is found by its label from then on: older controllers gave none to the works of
// ApplicationSets.
func (d *decision) update(was, w *workv1.ManifestWork) {
	if w.Labels[apis.LabelPull] == "" {
		metav1.SetMetaDataLabel(&w.ObjectMeta, apis.LabelPull, "true")
	}
	d.step(Step{Write: work.Change(was, w)})
}

// delete asks for the deletion of a work, and tells of it.
func (d *decision) delete(w *workv1.ManifestWork, as ending) {
	d.step(Step{Write: work.Deletion(w), Log: as.log, Events: as.of(d, w)})
	d.going[w.UID] = true
}

// leaving tells whether the deletion of a work has been asked for.
func (d *decision) leaving(w *workv1.ManifestWork) bool {
	return !w.DeletionTimestamp.IsZero() || d.going[w.UID]
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
	if d.over {
		d.hub().Annotations = map[string]*string{apis.AnnotationRefresh: nil}
	}
	if !d.plan.Silent {
		after = showing(after, d.plan.Conditions, now)
	}
	if slices.Equal(after, before) {
		return
	}
	d.hub().Conditions = after
	for _, c := range d.plan.Conditions {
		if c.endsRelease() && runs(d.App.Status.OperationState) {
			d.hub().Status = noOperationState
		}
		if c.Reason != "" && !slices.ContainsFunc(before, c.shownBy) {
			d.plan.Events = append(d.plan.Events, c.event())
		}
	}
}

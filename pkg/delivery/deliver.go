package delivery

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// deliver writes the desired form of the Application's work. Obstacles become conditions, and the content of an
// existing work stays: see freeze.
func (d *decision) deliver() {
	b := d.firstBlock(Deliver)
	if b == nil || b.Type != paused {
		d.dropReplaced()
	}
	if b == nil {
		b = d.advance(arriving, nil)
	}
	if b == nil {
		b = d.leaveOldCluster()
	}
	if b == nil && d.relocates() {
		b = d.advance(relocating, d.subject(d.Own))
	}
	switch {
	case d.plan.Required != 0:
		return
	case b != nil && b.Type == "": // the conditions stay while the work returns to its earlier form
		d.plan.Silent = true
		return
	}
	var withheld *block
	if b == nil || b.notice() && b.Type != paused {
		withheld = d.withhold()
	}
	if d.sendable = b == nil; d.sendable {
		var r *relaying
		if r, b = d.send(withheld != nil); b == nil && !r.HubFirst {
			b = d.cleanUpFormerWorks(r.changed)
		}
	} else {
		b = d.unsent(b)
	}
	if b == nil || b.notice() {
		d.plan.addCondition(withheld)
	}
	d.plan.addCondition(b)
}

// unsent returns the obstacle to the delivery, with its consequences for the Application.
func (d *decision) unsent(b *block) *block {
	switch b.Reason {
	case apis.ReasonSkipReconcileMissing:
		decided := only(d.all(), func(w *workv1.ManifestWork) bool { return !d.undecided(w) })
		b = b.and(d.bothDeploy()).meanwhile(d.releaseAll(decided)) // a typing mistake of the author destroys nothing
	case apis.ReasonClusterAnnotationMissing:
		b = b.meanwhile(d.releaseAll(d.all())) // a typing mistake of the author destroys nothing
	default:
		if b.Reason == apis.ReasonTargetConflict {
			d.giveWay()
		}
		if there := d.keptElsewhere(); !b.notice() && len(there) > 0 {
			b = b.and("; until then, cluster " + strings.Join(there, ", ") + " keeps the Application")
		}
	}
	if d.App.Refresh() != "" && !d.App.SpecChanged() && d.refresh == nil { // the cluster does not get the refresh, and a user would wait in vain
		d.dropRefresh(untilDrop(d.App, d.Now), "the requested refresh was dropped, because Towline does not send the Application: "+b.message())
	}
	return b
}

// bothDeploy returns the words about works that stay until the author decides which Argo CD deploys; empty for none.
func (v *view) bothDeploy() string {
	kept := only(v.all(), v.undecided)
	if len(kept) == 0 {
		return ""
	}
	return fmt.Sprintf(". Until then, cluster %s keeps the Application, and both Argo CDs may deploy. To hand the Application over to the "+
		"hub's Argo CD, remove the label %s",
		strings.Join(clustersOf(kept), ", "), apis.LabelPull)
}

// keptElsewhere returns the other clusters that keep the Application meanwhile, if the Application alone blocks no delivery: see fit.
func (v *view) keptElsewhere() []string {
	if !fit(v.App) {
		return nil
	}
	return clustersOf(v.staying(v.elsewhere()))
}

// dropReplaced deletes the works that later works have replaced, wherever the Application is to go next.
func (d *decision) dropReplaced() {
	for _, w := range d.Others {
		if d.replaced(w) {
			d.plan.addCondition(d.endWork(d.subject(w), replacement))
		}
	}
}

// dropRefresh removes the refresh request from the hub, and shows a non-empty warning. With a delay, only a later decision does
// so.
func (d *decision) dropRefresh(delay time.Duration, warning string) {
	if delay > 0 {
		d.plan.addWait(Wait{After: delay})
		return
	}
	d.refresh, d.refreshOver = &warning, true
	switch {
	case d.App.SpecChanged(): // Towline's own request
	case warning == "":
		d.plan.Refreshed = RefreshAnswered
	default:
		d.plan.Refreshed = RefreshDropped
	}
}

// writeRefused is the notice about a work that the API server refuses.
var writeRefused = &Gate{Name: "write", Type: problem, Reason: apis.ReasonWorkRejected, Backoff: true}

// send writes the work of a permitted Application. withheld is true if the requested operation stays on the hub: see
// withhold. The Application is not sendable if a problem prevents the write: see freeze.
func (d *decision) send(withheld bool) (*relaying, *block) {
	to := d.allowed()
	r, b := d.relay(to, withheld)
	if b != nil || r.HubFirst {
		d.plan.Silent, d.sendable = b == nil, b == nil
		return r, b
	}
	desired, err := r.render()
	if (err != nil || d.Refusal != nil) && d.plan.Refreshed == RefreshAnswered {
		// An answered refresh stays on the hub, because its work cannot be changed and still has the refresh.
		d.plan.Refreshed, d.refresh, d.refreshOver = "", nil, false
	}
	d.sendable = err == nil && d.Refusal == nil
	if err != nil {
		return r, d.plan.blockAt(payloadInvalid, unrendered(err))
	}
	work.ExecuteAs(desired, d.Executor)
	if d.GrantedBy != "" {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationGrantedBy, d.GrantedBy)
	}
	if d.Refusal != nil {
		return r, d.plan.blockAt(writeRefused, rejected(d.Refusal))
	}
	d.plan.addWait(Wait{After: r.After})
	if r.changed = d.write(desired, to); r.changed {
		return r, nil
	}
	if v := d.adopted(d.Own, to); v.Message != "" {
		return r, d.plan.blockAt(adoptionRefused, v)
	}
	return r, nil
}

// write creates the work, or updates the work after a change on the hub or an edit by a user. write reports whether
// the agent must apply the work again.
func (d *decision) write(desired *workv1.ManifestWork, to *argocd.Application) (changed bool) {
	switch {
	case d.Own == nil:
		d.claim(desired, to)
		d.create(desired)
		return true
	case d.deletionRequested(d.Own): // the end of the work wakes the controller, and the next decision creates the work again
		if d.OwnUnwatched {
			d.plan.addWait(Wait{After: poll})
		}
		return false
	}
	work.TakeOver(desired, d.Own)
	told := d.setBack(desired, to)
	d.claim(desired, to)
	updated, differs := work.Update(d.Own, desired)
	if !differs {
		return false
	}
	takes := targetIn(d.Own, to) != targetIn(updated, to)
	d.plan.addStep(Step{Write: work.Change(d.Own, updated), Rejects: true, Takes: takes, Events: told})
	return !work.SameSpec(&d.Own.Spec, &updated.Spec)
}

// create plans the creation of the work. If a cluster has reported on the Application and no other work exists, an
// earlier work of the same name may have delivered the Application. The new work then gets AnnotationRecreated. The
// annotation outlasts the Application and its status.
func (d *decision) create(desired *workv1.ManifestWork) {
	switch {
	case len(d.Others) > 0:
	case reportedOn(d.App):
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationRecreated, d.Now.UTC().Format(time.RFC3339))
	default:
		// The cache may have the end of the earlier work before the report. In a rollout of 500 Applications, the read took
		// 0.2 ms of Towline's 2.9 ms of CPU for each Application, and in a backlog nothing that a run could show.
		d.require(FactLatest)
	}
	if d.Outdated { // the Application may have another target or none by now
		d.plan.Silent = true
		d.plan.addWait(Wait{After: poll})
		return
	}
	d.plan.addStep(Step{Write: work.Creation(desired), Rejects: true, Alone: d.Move.oldFirst(d.App), Events: []Event{{
		Related: desired, Reason: apis.ReasonPropagated, Action: "Propagate",
		Note: "created ManifestWork " + desired.Namespace + "/" + desired.Name,
	}}})
}

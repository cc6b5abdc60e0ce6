package delivery

import (
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// deliver makes the Application's work say what it should. What cannot be sent is told, and the content of a work that has been sent
// before stays: see freeze.
func (d *decision) deliver() {
	if d.relabel() {
		return
	}
	h := d.held(Deliver, nil)
	switch {
	case d.plan.Need != 0:
		return
	case h != nil && h.Type == "": // nothing is shown while its work goes back to what it was
		d.plan.Silent = true
		return
	}
	if h == nil || h.notice() && h.Type != paused {
		d.withhold()
	}
	if d.sendable = h == nil; d.sendable {
		h = d.send()
	} else {
		h = d.unsent(h)
	}
	if d.withheld != nil && (h == nil || h.notice()) {
		d.say(d.withheld)
	}
	d.sayAny(h)
}

// unsent is what keeps an Application from being sent, with what that means for it.
func (d *decision) unsent(h *hold) *hold {
	switch h.Reason {
	case apis.ReasonClusterAnnotationMissing, apis.ReasonSkipReconcileMissing:
		h = h.meanwhile(d.releaseAll(d.all())) // so that a slip destroys nothing
	default:
		h = d.kept(h)
		if h.Type != paused {
			d.dropReplaced()
		}
	}
	if d.App.Refresh() != "" && !d.App.SpecChanged() && d.refresh == nil { // its cluster does not hear of it, and whoever asked would wait
		d.dropRefresh("a refresh was asked for and dropped, since the Application is not sent: " + h.message())
	}
	return h
}

// dropReplaced deletes the works of earlier Applications of the name that the own work has replaced. Both would bring the Application to
// one place, and each undo there what the other says.
func (d *decision) dropReplaced() {
	if !d.owns() || d.sent() == nil || d.leaving(d.Own) || work.Released(d.Own) || !applied(d.Own) {
		return
	}
	for _, w := range d.Others {
		if isHere(w, d.App) {
			d.sayAny(d.drop(w))
		}
	}
}

// kept is a problem with the cluster that an Application is to go to, with where it is meanwhile.
func (d *decision) kept(h *hold) *hold {
	if h.notice() || !Fit(d.App) {
		return h
	}
	there := d.staying(d.elsewhere())
	if len(there) == 0 {
		return h
	}
	return h.and("; until then cluster " + strings.Join(clustersOf(there), ", ") + " keeps it")
}

// dropRefresh takes the request for a refresh off the hub, and shows the warning unless it is empty.
func (d *decision) dropRefresh(warning string) {
	d.refresh, d.over = &warning, true
	switch {
	case d.App.SpecChanged(): // Towline's own request
	case warning == "":
		d.plan.Refreshed = RefreshAnswered
	default:
		d.plan.Refreshed = RefreshDropped
	}
}

// keepAnswered leaves a refresh that has been answered on the hub: its work, which remembers it, cannot be changed.
func (d *decision) keepAnswered() {
	if d.plan.Refreshed == RefreshAnswered {
		d.plan.Refreshed, d.refresh, d.over = "", nil, false
	}
}

// send makes the work of an Application that may go to its cluster.
func (d *decision) send() *hold {
	r, h := d.relay()
	if h != nil || r.done {
		d.plan.Silent = r.done
		return h
	}
	desired, err := r.render(d)
	if err != nil || d.Refusal != nil {
		d.keepAnswered()
	}
	if err != nil {
		return d.met("payload", unrendered(err))
	}
	work.ExecuteAs(desired, d.Executor)
	if d.GrantedBy != "" {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationGrantedBy, d.GrantedBy)
	}
	if d.Refusal != nil {
		return d.met("write", rejected(d.Refusal))
	}
	d.wait(Wait{After: r.after})
	current, changed := d.write(desired)
	if a := d.askAdoption(current); !changed && a.Words != "" {
		return d.met("adoption", a)
	}
	return d.clear(current, changed)
}

// write creates the work, or changes it where it differs from desired: after a change on the hub, and when someone edited it.
// It returns the work, and whether the agent has to apply it anew.
func (d *decision) write(desired *workv1.ManifestWork) (current *workv1.ManifestWork, changed bool) {
	switch {
	case d.Own == nil:
		d.claim(desired)
		d.noteAnew(desired)
		if d.Outdated { // it may ask for another place by now, or for none
			d.plan.Silent = true
			d.wait(Wait{After: poll})
			return desired, true
		}
		d.step(Step{Write: work.Creation(desired), Rejects: true, Alone: d.Move.oldFirst(d.App), Events: []Event{{
			Related: desired, Reason: apis.ReasonPropagated, Action: "Propagate",
			Note: "created ManifestWork " + desired.Namespace + "/" + desired.Name,
		}}})
		return desired, true
	case d.leaving(d.Own): // its end wakes the decision that makes it anew
		if d.OwnUnwatched {
			d.wait(Wait{After: poll})
		}
		return d.Own, false
	}
	work.TakeOver(desired, d.Own)
	d.claim(desired)
	updated, differs := work.Update(d.Own, desired)
	if !differs {
		return d.Own, false
	}
	takes := targetIn(d.Own, d.to) != targetIn(updated, d.to)
	d.step(Step{Write: work.Change(d.Own, updated), Rejects: true, Takes: takes})
	return updated, !work.SameSpec(&d.Own.Spec, &updated.Spec)
}

// noteAnew marks a work that is made for an Application which a cluster has reported on, and which no other work has: an
// earlier one of its name, which is gone, may have brought it there. The Application, and what it knows, may be gone when
// that matters.
func (d *decision) noteAnew(made *workv1.ManifestWork) {
	switch {
	case len(d.Others) > 0:
	case reportedOn(d.App):
		metav1.SetMetaDataAnnotation(&made.ObjectMeta, apis.AnnotationMadeAnew, d.Now.UTC().Format(time.RFC3339))
	default:
		d.lacks(NeedLatest) // the cache may have the end of the earlier work before it has the report
	}
}

// label puts the labels of the Application's work on one, and tells whether it lacked some.
func (d *decision) label(w *workv1.ManifestWork) bool {
	desired, err := work.Render(d.App, work.Requests{})
	if err != nil {
		return false
	}
	before := maps.Clone(w.Labels)
	for key, value := range desired.Labels {
		metav1.SetMetaDataLabel(&w.ObjectMeta, key, value)
	}
	return !maps.Equal(before, w.Labels)
}

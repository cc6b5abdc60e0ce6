package delivery

import (
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// freeze switches off what clusters deploy by themselves, in works whose content may not be on their cluster any more. The content
// and the workload stay. An Application that may be sent again is delivered as on the hub, which switches everything on again.
//
// The freeze comes last in a decision: a work that is to change anyway is frozen in the same write. Neither a pause nor a release by
// the Application's author holds the freeze back. A pause of the cluster does.
func (d *decision) freeze() {
	if d.App == nil || d.plan.Need != 0 {
		return
	}
	for _, w := range d.all() {
		if d.leaving(w) || d.sendable && w == d.Own || !work.Frozen(w) && !work.RunsByItself(w) {
			continue
		}
		if d.lacks(NeedRights) {
			return
		}
		if d.Lost[w.UID] != nil {
			d.freezeWork(w)
		}
	}
}

// freezeWork freezes one work, and tells how far that has come. A work that is not Towline's to change stays as it is.
func (d *decision) freezeWork(w *workv1.ManifestWork) {
	words := d.frozenWords(w)
	if words == "" {
		return
	}
	lost := d.Lost[w.UID]
	a := answer{Words: lost.Message + "; " + words + frozenUntil, Reason: lost.Reason}
	if d.sendable { // to another cluster: nothing keeps the Application from being where it is to be
		a.Type, a.Reason = moving, apis.ReasonMoving
	}
	d.sayAny(d.met("frozen", a))
}

// frozenUntil says what ends a freeze.
const frozenUntil = ". What runs there is unchanged. Automated sync goes on by itself when the Application is permitted again"

func (d *decision) frozenWords(w *workv1.ManifestWork) string {
	cluster := d.Clusters[w.Namespace]
	planned := d.planned(w)
	updated, changed := d.frozenForm(planned)
	switch {
	case changed && cluster.Paused != "":
		return fmt.Sprintf("cluster %s still syncs it automatically, because the cluster is %s", w.Namespace, pausedBy(cluster.Paused))
	case changed && cluster.Unreachable != "":
		return fmt.Sprintf("cluster %s is asked to stop automated sync when Towline hears of it again", w.Namespace)
	case changed:
		d.replan(w, updated)
		return fmt.Sprintf("cluster %s has been asked to stop automated sync, and has not confirmed that yet", w.Namespace)
	case work.CarriesRequest(w):
		return fmt.Sprintf("cluster %s is asked to stop automated sync after it has answered the sync that is on its way", w.Namespace)
	case !work.Frozen(w):
		return ""
	case planned != w || !applied(w):
		return fmt.Sprintf("cluster %s has been asked to stop automated sync, and has not confirmed that yet", w.Namespace)
	}
	return fmt.Sprintf("cluster %s has confirmed that automated sync is off", w.Namespace)
}

// frozenForm is a work without what its cluster deploys by itself, and whether that is a change. A request on its way is waited for:
// its answer tells whether the operation has arrived, and an operation runs once.
func (d *decision) frozenForm(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !work.CarriesRequest(w) {
		return work.Freeze(w)
	}
	last := work.Sent(w).Last
	seen := feedback.Parse(&w.Status, work.Identifier(work.At(d.App, w)))
	r := answered(w, last, last.ID, operations(&seen), d.Now)
	if r.hold || r.requests.Last.State == relay.OnItsWay {
		return w, false
	}
	return work.FreezePutBack(w, d.App, r.requests)
}

// planned is a work as the plan writes it so far.
func (d *decision) planned(w *workv1.ManifestWork) *workv1.ManifestWork {
	if i := d.stepOf(w); i >= 0 && d.plan.Steps[i].Verb == work.VerbUpdate {
		return d.plan.Steps[i].Work
	}
	return w
}

// replan writes a work in its frozen form.
func (d *decision) replan(w, updated *workv1.ManifestWork) {
	if i := d.stepOf(w); i >= 0 {
		d.plan.Steps[i].Work = updated
		return
	}
	d.update(w, updated)
}

// stepOf is the place of a work's write in the plan; -1 for none, and for a work that is nil.
func (d *decision) stepOf(w *workv1.ManifestWork) int {
	return slices.IndexFunc(d.plan.Steps, func(s Step) bool { return w != nil && s.Was != nil && s.Was.UID == w.UID })
}

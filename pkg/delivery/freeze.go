package delivery

import (
	"fmt"

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
		if d.deletionRequested(w) || d.sendable && w == d.Own || !work.Frozen(w) && !work.RunsByItself(w) {
			continue
		}
		if d.require(NeedRights) {
			return
		}
		if d.Lost[w.UID] != nil {
			d.freezeWork(w)
		}
	}
}

// frozenNotice tells of a work that is frozen, or is to be.
var frozenNotice = &Gate{Name: "frozen", Type: forbidden, Quiet: true}

// freezeWork freezes one work, and tells how far that has come. A work that is not Towline's to change stays as it is.
func (d *decision) freezeWork(w *workv1.ManifestWork) {
	planned := d.plan.planned(w)
	updated, changed := d.frozenForm(planned)
	words, writes := d.frozenWords(w, planned, changed)
	if writes {
		d.plan.replan(w, updated)
	}
	if words == "" {
		return
	}
	lost := d.Lost[w.UID]
	v := verdict{Words: lost.Message + "; " + words + frozenUntil, Reason: lost.Reason}
	if d.sendable { // to another cluster: nothing keeps the Application from being where it is to be
		v.Type, v.Reason = moving, apis.ReasonMoving
	}
	d.plan.addCondition(d.plan.blockAt(frozenNotice, v))
}

// frozenUntil says what ends a freeze.
const frozenUntil = ". What runs there is unchanged. Automated sync goes on by itself when the Application is permitted again"

// frozenWords are what to tell of a work that is to be frozen, and whether it is written now.
func (v *view) frozenWords(w, planned *workv1.ManifestWork, changed bool) (words string, writes bool) {
	cluster := v.Clusters[w.Namespace]
	switch {
	case changed && cluster.Paused != "":
		return fmt.Sprintf("cluster %s still syncs it automatically, because the cluster is %s", w.Namespace, pausedBy(cluster.Paused)), false
	case changed && cluster.Unreachable != "":
		return fmt.Sprintf("cluster %s is asked to stop automated sync when Towline hears of it again", w.Namespace), false
	case work.CarriesRequest(w) && !changed:
		return fmt.Sprintf("cluster %s is asked to stop automated sync after it has answered the sync that is on its way", w.Namespace), false
	case !changed && !work.Frozen(w):
		return "", false
	case changed || planned != w || !applied(w):
		return fmt.Sprintf("cluster %s has been asked to stop automated sync, and has not confirmed that yet", w.Namespace), changed
	}
	return fmt.Sprintf("cluster %s has confirmed that automated sync is off", w.Namespace), false
}

// frozenForm is a work without what its cluster deploys by itself, and whether that is a change. A request on its way is waited for:
// its answer tells whether the operation has arrived, and an operation runs once.
func (v *view) frozenForm(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !work.CarriesRequest(w) {
		return work.Freeze(w)
	}
	last := work.Sent(w).Last
	seen := feedback.Parse(&w.Status, work.Identifier(work.At(v.App, w)))
	requests, unanswered := answered(w, last, last.ID, operations(&seen), v.Now)
	if unanswered || requests.Last.State == relay.OnItsWay {
		return w, false
	}
	return work.FreezePutBack(w, v.App, requests)
}

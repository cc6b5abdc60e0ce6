package delivery

import (
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// freeze stops the automated syncs and hydration of works whose content is no longer permitted on the cluster. The
// content and the workload stay. If the Application may be sent again, the delivery restores the automation from the
// hub. A repository that only an operation reads, and that is no longer permitted, is closed at once.
func (d *decision) freeze() {
	if d.App == nil || d.plan.Required != 0 {
		return
	}
	if d.owns() && !d.deletionRequested(d.Own) {
		d.plan.rewrite(d.Own, func(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
			return work.CloseReads(w, d.App.Project(), d.ReadsRefused)
		})
	}
	for _, w := range d.all() {
		if d.deletionRequested(w) || d.sendable && w == d.Own || !work.Frozen(w) && !work.RunsByItself(w) && !work.ReadsThroughHub(w) {
			continue
		}
		if d.require(FactRights) {
			return
		}
		if d.Lost[w.UID] != nil {
			d.plan.rewrite(w, work.CloseSources)
			d.freezeWork(w)
		}
	}
}

// frozenNotice is the notice about a frozen work, or about a work to be frozen.
var frozenNotice = &Gate{Name: "frozen", Type: forbidden}

// freezeWork freezes a work, and shows the progress. On a paused or unreachable cluster, and during a request on its
// way, the work stays unchanged.
func (d *decision) freezeWork(w *workv1.ManifestWork) {
	planned := d.plan.planned(w)
	if planned != w && work.CarriesRequest(planned) { // the termination before a removal: the cluster must first answer
		return
	}
	updated, changed := d.frozenForm(planned)
	words, writes := d.frozenWords(w, planned, changed)
	if writes {
		d.plan.replan(w, updated)
	}
	if words == "" {
		return
	}
	lost := d.Lost[w.UID]
	b := blockFor(lost.Reason, lost.Message+"; "+words+frozenUntil)
	if d.sendable { // the Application goes to another cluster, and no block exists for the new cluster
		b.Type, b.Reason = moving, apis.ReasonMoving
	}
	d.plan.addCondition(d.plan.blockAt(frozenNotice, b))
}

// frozenUntil describes the end of a freeze.
const frozenUntil = ". The workload is unchanged. Automated sync continues when the Application is permitted again"

// frozenWords returns the message about a work to be frozen, and whether the work is written now.
func (v *view) frozenWords(w, planned *workv1.ManifestWork, changed bool) (words string, writes bool) {
	cluster := v.Clusters[w.Namespace]
	switch {
	case changed && cluster.Paused != "":
		return fmt.Sprintf("cluster %s still syncs the Application automatically, because the cluster is %s", w.Namespace, pausedBy(cluster.Paused)), false
	case changed && cluster.Unreachable != "":
		return fmt.Sprintf("Towline asks cluster %s to stop automated sync when the cluster is available again", w.Namespace), false
	case work.CarriesRequest(w) && !changed:
		return fmt.Sprintf("cluster %s is asked to stop automated sync after the cluster has answered the requested sync", w.Namespace), false
	case !changed && !work.Frozen(w):
		return "", false
	case changed || planned != w || !v.report(w).Applied():
		return fmt.Sprintf("cluster %s has been asked to stop automated sync, and has not confirmed the stop yet", w.Namespace), changed
	}
	words = fmt.Sprintf("cluster %s has confirmed that automated sync is off", w.Namespace)
	if relay.ClusterOf(v.report(w).Observation()).Busy {
		words += ". An operation still runs on the cluster, and may deploy newer commits: terminate the operation on the cluster"
	}
	return words, false
}

// frozenForm returns the frozen form of a work, and whether the form differs. frozenForm waits for the answer to a
// request on its way. The answer tells whether the operation has arrived, and an operation must run only once.
func (v *view) frozenForm(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !work.CarriesRequest(w) {
		return work.Freeze(w)
	}
	sent, report := work.Sent(w).Last, v.report(w)
	last, unanswered := sent.Answered(resultOf(report), sent.ID, relay.ClusterOf(report.Observation()), v.Now)
	if unanswered {
		return w, false
	}
	return work.FreezePutBack(w, v.subject(w).app, last)
}

package delivery

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// underway returns the operation that must end before the removal of the Application from the cluster; nil for none.
// Argo CD (2.14) processes finalizers only after the operation. After the deletion of the work, the hub cannot reach
// the operation any more. So the work stays until the end of the operation, and can carry the termination.
//
// An unreachable cluster is not awaited. Its last report may be out of date, and the leaving work should be gone
// before the cluster returns or is imported again. A ManagedCluster that is missing, in deletion, or no longer
// accepted is not awaited either.
func (v *view) underway(s *subject) *relay.Cluster {
	w := s.ManifestWork
	report := v.report(w)
	refused := report.RefusedBy() != "" // the operation belongs to an Application of another owner
	if refused || len(cascade(s.app)) == 0 || report.Found() == metav1.ConditionFalse {
		return nil
	}
	seen := report.Observation()
	there := relay.ClusterOf(seen)
	if !unfinished(report, there, seen.Complete) || !v.Clusters[w.Namespace].Heard() {
		return nil
	}
	return &there
}

// unfinished reports whether an operation waits or runs on the cluster of a work. The status may show an operation
// from the hub as running, while a complete report has no pending operation. A user has then removed the operation,
// and the operation does not run. An operation applied by the agent counts until the cluster has reported the result.
func unfinished(report *work.Report, there relay.Cluster, complete bool) bool {
	last := work.Sent(report.Work).Last
	came := last.State == relay.Delivered || last.State == relay.OnItsWay && report.Outcome() == metav1.ConditionTrue
	return there.Pending != "" || there.Busy && (there.Taken == "" || !complete) ||
		came && last.Digest != "" && last.Version == there.Version
}

// stopOperation waits for an operation on the cluster of a leaving work. If the hub asks to stop the operation, the
// termination replaces the Application in the work. The Application must not change after the termination, so the
// work first delivers the final form of the Application. The end of the operation and the agent's answer wake the
// controller for the next decision.
func stopOperation(v *view, s *subject) block {
	there := v.underway(s)
	if s.untouched || there == nil {
		return done
	}
	hub, wait := s.app.Status.OperationState, blockf("an operation runs on cluster %s", s.Namespace)
	if updated, changed := work.PrepareRemoval(s.ManifestWork, cascade(s.app)); changed {
		return wait.changing(s.ManifestWork, updated)
	}
	if updated, changed := work.AskVolatile(s.ManifestWork); changed && hub.Terminating() && !work.CarriesRequest(s.ManifestWork) {
		return wait.changing(s.ManifestWork, updated) // the termination is for a single version of the cluster's Application
	}
	there.Ready = v.report(s.ManifestWork).Outcome() != "" // for any content of the work
	if hub == nil || !relay.Terminate(hub, work.Sent(s.ManifestWork).Last, *there) {
		return wait
	}
	if updated, err := work.Terminating(s.ManifestWork, s.app, *there); err == nil && updated != s.ManifestWork {
		return wait.changing(s.ManifestWork, updated)
	}
	return wait
}

// running returns the words after a notice about operations that block the removal of an Application.
func (v *view) running(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if there := v.underway(v.subject(w)); there != nil {
			fmt.Fprintf(&b, "; an operation runs on cluster %s, which removes the Application after the operation%s", w.Namespace, v.hurry(w, there))
		}
	}
	return b.String()
}

// hurry explains how to stop an operation. The hub can stop only an operation visible on the hub, and only through a
// work that is not in deletion.
func (v *view) hurry(w *workv1.ManifestWork, there *relay.Cluster) string {
	hub := v.App.Status.OperationState
	switch {
	case hub == nil || hub.StartedAt != there.StartedAt || v.deletionRequested(w):
		return "; to shorten the wait, terminate the operation on the cluster"
	case hub.Terminating():
		return "; the operation was asked to stop"
	}
	return fmt.Sprintf("; to shorten the wait, terminate the operation with kubectl -n %s patch applications.argoproj.io %s --type merge "+
		`-p '{"status":{"operationState":{"phase":"Terminating"}}}'`, v.App.Namespace, v.App.Name)
}

// sentBy returns the first work that may have sent the requested operation to its cluster; nil for none. No cluster
// can fake the result, because a cluster does not know the operation's identity before.
func (v *view) sentBy(app *argocd.Application, ws works) *workv1.ManifestWork {
	if app.Operation == nil {
		return nil
	}
	id := relay.ID(app.Operation.Raw)
	for _, w := range ws {
		last := work.Sent(w).Last
		refused := last.State == relay.Refused || last.State == relay.OnItsWay && v.report(w).Outdated()
		if id != "" && last.ID == id && !refused { // an operation that failed for another reason may have arrived
			return w
		}
	}
	return nil
}

// withdrawFirst removes a sent operation from the hub before the end of its work. Otherwise the next work would send
// the operation again. A revocation does not wait for this step, because an author could request the same operation
// again and again. The write of the hub's Application wakes the controller for the next decision. Of an Application
// without the label, only the metadata is watched.
var withdrawFirst = &Gate{Name: "requested operation", step: func(v *view, s *subject) block {
	if s.app == nil || !s.app.DeletionTimestamp.IsZero() || v.sentBy(s.app, works{s.ManifestWork}) == nil {
		return done
	}
	wait := blockf("the requested operation was sent to cluster %s, and is removed from the Application first", s.Namespace)
	wait.withdraw = s.ManifestWork
	if v.Presence == Unlabelled {
		wait.After = poll
	}
	return wait
}}

// withdrawSent removes the requested operation from the hub if a work has carried the operation, and reports whether
// such an operation exists.
func (d *decision) withdrawSent(ws works) bool {
	w := d.sentBy(d.App, ws)
	if w == nil {
		return false
	}
	d.plan.withdrawOperation(w)
	return true
}

// withdrawOperation removes a sent operation from the hub. The operation may have run, and runs only once. Only the
// work stores the sent operation, so the removal comes before the end of the work.
func (p *Plan) withdrawOperation(w *workv1.ManifestWork) {
	if p.hub().Operation != nil {
		return
	}
	p.hub().Operation, p.TellFirst = relay.NoOperation, true
	p.Events = append(p.Events, Event{
		Related: w, Warning: true, Reason: apis.ReasonOperationWithdrawn, Action: "Propagate",
		Note: fmt.Sprintf("the requested operation was sent to cluster %s by ManifestWork %s, which will be deleted, so Towline removed the "+
			"operation from the Application. The operation may have run on the cluster. Request the operation again if you still want a "+
			"sync", w.Namespace, w.Name),
	})
}

// withdrawFromDeleted withdraws operations sent by works with a requested deletion, regardless of who requested the
// deletion. An Application in deletion gets no further work to send the operation again.
func (d *decision) withdrawFromDeleted() {
	if d.App != nil && d.App.DeletionTimestamp.IsZero() {
		d.withdrawSent(only(d.all(), d.deletionRequested))
	}
}

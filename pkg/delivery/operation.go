package delivery

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// underway is what the cluster of a work tells of the operation that has to be over before the Application can go from
// there; nil when there is none. Argo CD (2.14) obeys finalizers only then. Nothing reaches the operation any more once the
// work is being deleted: so the work stays until then, and can carry its termination.
//
// A cluster that is not heard of is not waited for: what it said last may be long over, and the work that is to go should
// be gone before it comes back, made anew perhaps. Nor is one that the hub has released.
func (v *view) underway(s *subject) *relay.Cluster {
	w := s.ManifestWork
	if len(cascade(s.app)) == 0 || notThere(w) || refusedBy(w) != "" { // the operation of somebody else's Application
		return nil
	}
	seen := feedback.Parse(&w.Status, work.Identifier(work.At(s.app, w)))
	there := operations(&seen)
	if !unfinished(w, there, seen.Complete) || !v.Clusters[w.Namespace].Heard() {
		return nil
	}
	return &there
}

// unfinished tells whether an operation waits or runs on the cluster of a work. One of the hub's that is said to run and is
// not to be found, by a complete report, was taken off there, and does not. One that the agent has applied counts until
// the cluster has told of what became of it.
func unfinished(w *workv1.ManifestWork, there relay.Cluster, complete bool) bool {
	last := work.Sent(w).Last
	came := last.State == relay.Delivered || last.State == relay.OnItsWay && work.Outcome(w) == metav1.ConditionTrue
	return there.Pending != "" || there.Busy && (there.Taken == "" || !complete) ||
		came && last.Digest != "" && last.Version == there.Version
}

// stopOperation is for a work that waits for an operation on its cluster. If the hub asks to stop that one, the work carries
// this in the place of the Application, which is not to change there any more: so it brings first what that is to have when it
// goes. The operation's end, and the agent's answer, wake the decision that goes on.
func stopOperation(v *view, s *subject) outcome {
	if deletableUnseen(s.ManifestWork, false) {
		return done
	}
	there := v.underway(s)
	if there == nil {
		return done
	}
	wait := waitf("an operation runs on cluster %s", s.Namespace)
	if updated, changed := work.Removable(s.ManifestWork, cascade(s.app)); changed {
		return wait.changing(s.ManifestWork, updated)
	}
	if updated, changed := work.AskVolatile(s.ManifestWork); changed && stopping(s.app) && !work.CarriesRequest(s.ManifestWork) {
		return wait.changing(s.ManifestWork, updated) // its termination is for one version of the Application there
	}
	there.Ready = work.Outcome(s.ManifestWork) != "" // whatever the work carries
	hub := s.app.Status.OperationState
	if hub == nil || !relay.Terminate(hub, work.Sent(s.ManifestWork).Last, *there) {
		return wait
	}
	if updated, err := work.Terminating(s.ManifestWork, s.app, *there); err == nil && updated != s.ManifestWork {
		return wait.changing(s.ManifestWork, updated)
	}
	return wait
}

// running are the operations that the removal of an Application waits for, to be put behind a notice.
func (v *view) running(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if there := v.underway(v.subject(w)); there != nil {
			fmt.Fprintf(&b, "; an operation runs on cluster %s, which removes the Application after the operation%s", w.Namespace, v.hurry(w, there))
		}
	}
	return b.String()
}

// hurry says how to stop an operation. What the hub does not show it cannot stop, nor what its work cannot carry any more.
func (v *view) hurry(w *workv1.ManifestWork, there *relay.Cluster) string {
	hub := v.App.Status.OperationState
	switch {
	case hub == nil || hub.StartedAt != there.StartedAt || v.deletionRequested(w):
		return "; to shorten this, terminate the operation there"
	case hub.Phase == "Terminating":
		return "; the operation was asked to stop"
	}
	return fmt.Sprintf("; to shorten this, terminate the operation with kubectl -n %s patch applications.argoproj.io %s --type merge "+
		`-p '{"status":{"operationState":{"phase":"Terminating"}}}'`, v.App.Namespace, v.App.Name)
}

// sentBy is the first of these works that has carried the requested operation and may have brought it; nil if none has. No cluster can make
// that up: it would have to know the operation's identity.
func sentBy(app *argocd.Application, ws works) *workv1.ManifestWork {
	if app.Operation == nil {
		return nil
	}
	id := relay.ID(app.Operation.Raw)
	for _, w := range ws {
		last := work.Sent(w).Last
		refused := last.State == relay.Refused || last.State == relay.OnItsWay && work.Outdated(w)
		if id != "" && last.ID == id && !refused { // what failed for another reason may have arrived
			return w
		}
	}
	return nil
}

// withdrawFirst is for a work that has carried the operation which the hub still asks for: the next work would send it once more. It does
// not hold a revocation, since an author could ask for the same operation again and again. The write of the hub's Application wakes
// the decision that goes on, but for one without the label, of which only the metadata is watched.
var withdrawFirst = &Gate{Name: "requested operation", step: func(v *view, s *subject) outcome {
	if s.app == nil || !s.app.DeletionTimestamp.IsZero() || sentBy(s.app, works{s.ManifestWork}) == nil {
		return done
	}
	wait := waitf("the requested operation was sent to cluster %s, and is removed from the Application first", s.Namespace)
	wait.withdraw = s.ManifestWork
	if v.Presence == Unlabelled {
		wait.After = poll
	}
	return wait
}}

// withdrawSent takes the requested operation off the hub if one of these works has carried it. It tells whether there was such an
// operation.
func (d *decision) withdrawSent(ws works) bool {
	w := sentBy(d.App, ws)
	if w == nil {
		return false
	}
	d.plan.withdrawOperation(w)
	return true
}

// withdrawOperation takes an operation off the hub that a work has carried: it may have run, and it runs once. Only the work remembers that,
// so this comes before the work goes.
func (p *Plan) withdrawOperation(w *workv1.ManifestWork) {
	if p.hub().Operation != nil {
		return
	}
	p.hub().Operation, p.TellFirst = none, true
	p.Events = append(p.Events, Event{
		Related: w, Warning: true, Reason: apis.ReasonOperationWithdrawn, Action: "Propagate",
		Note: fmt.Sprintf("the requested operation was sent to cluster %s by ManifestWork %s, which will be deleted, so it was removed from the "+
			"Application. It may have run there. Request it again if you still want a sync", w.Namespace, w.Name),
	})
}

// withdrawFromDeleted does so for works whose deletion has been asked for, by whomever. An Application that is being deleted gets no other
// work, which could bring the operation again.
func (d *decision) withdrawFromDeleted() {
	if d.App != nil && d.App.DeletionTimestamp.IsZero() {
		d.withdrawSent(only(d.all(), d.deletionRequested))
	}
}

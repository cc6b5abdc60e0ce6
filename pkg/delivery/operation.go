package delivery

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

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
func (d *decision) underway(w *workv1.ManifestWork) *relay.Cluster {
	if len(cascade(d.App)) == 0 || notThere(w) || refusedBy(w) != "" { // the operation of somebody else's Application
		return nil
	}
	seen := feedback.Parse(&w.Status, work.Identifier(work.At(d.App, w)))
	there := operations(&seen)
	if !unfinished(w, there, seen.Complete) || !d.Clusters[w.Namespace].Heard() {
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

// askOperation is for a work that waits for an operation on its cluster. If the hub asks to stop that one, the work carries
// this in the place of the Application, which is not to change there any more: so it brings first what that is to have when it
// goes. The operation's end, and the agent's answer, wake the decision that goes on.
func askOperation(d *decision, q question) answer {
	w := q.work
	if goesUnseen(w, false) {
		return open
	}
	there := d.underway(w)
	if there == nil {
		return open
	}
	words := because("an operation runs on cluster %s", w.Namespace)
	if updated, changed := work.Removable(w, cascade(d.App)); changed {
		d.update(w, updated)
		return words
	}
	if updated, changed := work.AskVolatile(w); changed && stopping(d.App) && !work.CarriesRequest(w) {
		d.update(w, updated) // its termination is for one version of the Application there
		return words
	}
	there.Ready = work.Outcome(w) != "" // whatever the work carries
	hub := d.App.Status.OperationState
	if hub == nil || !relay.Terminate(hub, work.Sent(w).Last, *there) {
		return words
	}
	if updated, err := work.Terminating(w, d.App, *there); err == nil && updated != w {
		d.update(w, updated)
	}
	return words
}

// running are the operations that the removal of an Application waits for, to be put behind a notice.
func (d *decision) running(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if there := d.underway(w); there != nil {
			fmt.Fprintf(&b, "; an operation runs on cluster %s, which removes the Application after the operation%s", w.Namespace, d.hurry(w, there))
		}
	}
	return b.String()
}

// hurry says how to stop an operation. What the hub does not show it cannot stop, nor what its work cannot carry any more.
func (d *decision) hurry(w *workv1.ManifestWork, there *relay.Cluster) string {
	hub := d.App.Status.OperationState
	switch {
	case hub == nil || hub.StartedAt != there.StartedAt || d.leaving(w):
		return "; to shorten this, terminate the operation there"
	case hub.Phase == "Terminating":
		return "; the operation was asked to stop"
	}
	return fmt.Sprintf("; to shorten this, terminate the operation with kubectl -n %s patch applications.argoproj.io %s --type merge "+
		`-p '{"status":{"operationState":{"phase":"Terminating"}}}'`, d.App.Namespace, d.App.Name)
}

package delivery

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// volatile tells whether somebody waits for what the cluster's Argo CD writes with every comparison, though no request is on
// its way: because of an operation that has just ended, or because the hub has not shown it at all.
//
// A work that has asked goes on until it has been answered and the hub shows the answer, and while the cluster is about to
// begin a sync of its own: a work that asks anew is a write of it. One that the agent could not apply, or has not answered, is
// left as it is: with each change it would have to be refused once more.
//
// A work does not ask where its agent tells by a condition whether the Application has been compared: that costs no write; see
// feedback.ComparedRules. But only the time of the comparison itself replaces what the hub shows of the cluster before, after a move.
func (r *relaying) volatile() bool {
	if r.Own == nil {
		return r.to.Status.ReconciledAt != "" || r.to.Status.OperationState != nil
	}
	asked, here, there := work.TellsVolatile(r.Own), &r.to.Status, &r.seen.Status
	known := cmp.Or(there.ReconciledAt, here.ReconciledAt)
	switch {
	case work.Outcome(r.Own) != metav1.ConditionTrue:
		return asked
	case !asked && answersByCondition(r.Own, &r.seen):
		return false
	case unsettled(r.to), uncompared(there.OperationState, known):
		return true
	}
	return asked && (there.ReconciledAt != here.ReconciledAt || r.seen.Starting)
}

// answersByCondition tells whether the agent tells by a condition whether the Application has been compared, or may do so with its next
// report. A work of an older controller is written, and asks for that then.
func answersByCondition(w *workv1.ManifestWork, seen *feedback.Observation) bool {
	if !work.AsksCompared(w) {
		return work.ByOlder(w)
	}
	return seen.TellsCompared || seen.UID == "" || !work.Reported(w)
}

// unsettled tells whether the hub shows no comparison of the cluster, or none after an operation that it shows.
func unsettled(app *argocd.Application) bool {
	return app.Status.ReconciledAt == "" || uncompared(app.Status.OperationState, app.Status.ReconciledAt)
}

// uncompared tells whether an operation runs, or has ended after the last comparison that is known. Many wait for the one
// after: Argo CD's CLI (app sync, app wait), its notifications controller, and the ApplicationSet controller in a RollingSync
// (3.3 and later) read reconciledAt on the hub. None does after a dry run.
func uncompared(o *argocd.OperationState, reconciledAt string) bool {
	if o == nil || o.Operation.Sync.DryRun {
		return false
	}
	return o.Running() || reconciledAt < o.FinishedAt
}

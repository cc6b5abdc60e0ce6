package delivery

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// volatile reports whether a user waits for the fields that Argo CD writes with every comparison, although no request
// is on its way. The reason is a recent operation, or a comparison not yet shown on the hub.
//
// A work with the feedback rule keeps the rule until the hub shows the answer, and while the cluster is about to start
// its own sync. To add the rule again later would be a further write of the work. A work that the agent could not
// apply, or has not answered, stays unchanged, because the agent would refuse each change again.
//
// A work needs no rule if its agent reports the comparison by a condition, which costs no write; see
// feedback.ConditionRules. But after a move, only the time of the comparison replaces the former cluster's time on the
// hub.
func (r *relaying) volatile() bool {
	if r.Own == nil {
		return r.to.Status.ReconciledAt != "" || r.to.Status.OperationState != nil
	}
	asked, here, there := work.TellsVolatile(r.Own), &r.to.Status, &r.seen.Status
	known := cmp.Or(there.ReconciledAt, here.ReconciledAt)
	switch {
	case r.report(r.Own).Outcome() != metav1.ConditionTrue:
		return asked
	case !asked && answersByCondition(r.report(r.Own), r.seen):
		return false
	case unsettled(r.to), uncompared(there.OperationState, known):
		return true
	}
	return asked && (there.ReconciledAt != here.ReconciledAt || r.seen.Starting)
}

// detailCalm is the time without conditions after which a work no longer asks for details. The removal of the rule makes
// the agent apply the work again, which costs the agent as much as the rule costs in ten minutes.
const detailCalm = 10 * time.Minute

// detailed reports whether a work asks for the details of the Application. remaining is the remaining time of the rule in a
// work whose Application has no details any more; zero for none. own is nil without a work.
func detailed(own *workv1.ManifestWork, seen *feedback.Observation, now time.Time) (asks bool, remaining time.Duration) {
	if own == nil || seen.Detailed || !work.TellsDetails(own) {
		return seen.Detailed, 0
	}
	remaining = max(detailCalm-now.Sub(seen.ReadAt.Time), 0)
	return remaining > 0, remaining
}

// answersByCondition reports whether the agent reports the comparison by a condition, or may do so with its next
// report. After a takeover, the work asks for the condition.
func answersByCondition(report *work.Report, seen *feedback.Observation) bool {
	if !work.AsksCompared(report.Work) {
		return work.ByOlder(report.Work) // the next write is the takeover
	}
	return seen.TellsCompared || seen.UID == "" || !report.Reported()
}

// unsettled reports whether the hub shows no comparison by the cluster, or no comparison after the shown operation.
func unsettled(app *argocd.Application) bool {
	return app.Status.ReconciledAt == "" || uncompared(app.Status.OperationState, app.Status.ReconciledAt)
}

// uncompared reports whether an operation runs, or has ended after the last known comparison. Many clients read
// reconciledAt on the hub, and wait for the next comparison: Argo CD's CLI (app sync, app wait), the notifications
// controller, and the ApplicationSet controller in a RollingSync (3.3 and later). No client waits after a dry run.
func uncompared(o *argocd.OperationState, reconciledAt string) bool {
	if o == nil || o.Operation.Sync.DryRun {
		return false
	}
	return o.Running() || reconciledAt < o.FinishedAt
}

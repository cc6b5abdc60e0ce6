package propagation

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// underway is what the cluster of a work tells of the operation that has to be over before the Application can go from
// there; nil when there is none. Argo CD (2.14) obeys finalizers only then. Nothing reaches the operation any more once the
// work is being deleted: so the work stays until then, and can carry its termination.
//
// A cluster that is not heard of is not waited for: what it said last may be long over, and the work that is to go should
// be gone before it comes back, made anew perhaps. Nor is one that the hub has let go of.
func (r *Reconciler) underway(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) (*relay.Cluster, error) {
	if len(cascade(app)) == 0 || notThere(w) {
		return nil, nil
	}
	seen := feedback.Parse(&w.Status, work.Identifier(work.At(app, w)))
	there := there(&seen)
	if !unfinished(w, there, seen.Complete) {
		return nil, nil
	}
	cluster, err := r.cluster(ctx, w.Namespace)
	if err != nil || !heard(cluster) {
		return nil, err
	}
	return &there, nil
}

// unfinished tells whether an operation waits or runs on the cluster of a work. One of the hub's that is said to run and is
// not to be found, by a complete report, was taken off there, and does not. One that the agent has applied counts until
// the cluster has told of what became of it.
func unfinished(w *workv1.ManifestWork, there relay.Cluster, complete bool) bool {
	last := work.Sent(w).Last
	brought := last.State == relay.Delivered || last.State == relay.OnItsWay && work.Outcome(w) == metav1.ConditionTrue
	return there.Pending != "" || there.Busy && (there.Taken == "" || !complete) ||
		brought && last.Digest != "" && last.Version == there.Version
}

// heard tells whether what a cluster said last holds, and whether it hears.
func heard(cluster *clusterv1.ManagedCluster) bool {
	return cluster != nil && detached(cluster) == "" && report.Unreachable(cluster) == ""
}

// awaits tells whether the removal of an Application waits for an operation on the cluster of a work. If the hub asks to
// stop that one, the work carries this in the place of the Application, which is not to change there any more: so it
// brings first what that is to have when it goes.
func (r *Reconciler) awaits(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) (bool, error) {
	there, err := r.underway(ctx, app, w)
	if there == nil || err != nil {
		return false, err
	}
	if updated, changed := work.Removable(w, cascade(app)); changed {
		return true, r.rewrite(ctx, w, updated)
	}
	if updated, changed := work.AskVolatile(w); changed && stopping(app) && !work.CarriesRequest(w) {
		return true, r.rewrite(ctx, w, updated) // its termination is for one version of what is there
	}
	there.Ready = work.Outcome(w) != "" // whatever the work carries
	hub := app.Status.OperationState
	if hub == nil || !relay.Terminate(hub, work.Sent(w).Last, *there) {
		return true, nil // its end, and the agent's answer, wake the next reconcile
	}
	updated, err := work.Terminating(w, app, *there)
	if err != nil || updated == w {
		return true, err
	}
	return true, r.rewrite(ctx, w, updated)
}

// tellOperations adds the operations that the removal of an Application waits for to what is told of it.
func (r *Reconciler) tellOperations(
	ctx context.Context, app *argocd.Application, works []workv1.ManifestWork, notice *Problem,
) error {
	for i := range works {
		there, err := r.underway(ctx, app, &works[i])
		if err != nil {
			return err
		}
		if there != nil {
			notice.Message += fmt.Sprintf("; an operation runs on cluster %s, which removes the Application when that is over%s",
				works[i].Namespace, hurry(app, &works[i], there))
		}
	}
	return nil
}

// hurry says how to stop an operation. What the hub does not show it cannot stop, nor what its work cannot carry any more.
func hurry(app *argocd.Application, w *workv1.ManifestWork, there *relay.Cluster) string {
	hub := app.Status.OperationState
	switch {
	case hub == nil || hub.StartedAt != there.StartedAt || !w.DeletionTimestamp.IsZero():
		return ": to hurry, terminate it there"
	case hub.Phase == "Terminating":
		return ": it was asked to stop"
	}
	return fmt.Sprintf(": to hurry, terminate it, as by kubectl -n %s patch applications.argoproj.io %s --type merge "+
		`-p '{"status":{"operationState":{"phase":"Terminating"}}}'`, app.Namespace, app.Name)
}

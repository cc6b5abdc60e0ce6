package propagation

import (
	"context"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// checkPlace returns a Problem while the place that an Application is to come to on its cluster is another's still, which
// the hub has elsewhere by now, or not any more. The work agent would lay the one over the other, since both are its own,
// and Argo CD there would take what the other deployed for what is to be pruned.
func (r *Reconciler) checkPlace(ctx context.Context, app *argocd.Application) error {
	works := &workv1.ManifestWorkList{}
	if err := r.List(ctx, works, client.InNamespace(app.Cluster()), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range works.Items {
		w := &works.Items[i]
		owner, ok := index.HubApplication(w)
		if !ok || owner == client.ObjectKeyFromObject(app) || w.Name == work.Name(app) || !hasPlaceOf(w, app) {
			continue
		}
		p := problemf(apis.ReasonTargetConflict, "cluster %s still has the Application %s/%s of ManifestWork %s, which is the hub's %s: "+
			"this one is sent when that has gone from there", w.Namespace, app.ClusterNamespace(), app.Name, w.Name, owner)
		p.cause = errLater // nothing wakes this one when the other has gone
		return p
	}
	return nil
}

// leaving is what to tell while the cluster removes an earlier Application of that name, whose work was told to go before
// this one was there; nil when none of its stale works is such a one. The agent (v1.2.0) looks for other owners before it
// deletes, and not once more when it does: what another work has applied in between would be gone, until the agent looks
// again minutes later. The work's end wakes the reconcile that goes on.
func leaving(stale []workv1.ManifestWork, app *argocd.Application) *Problem {
	for i := range stale {
		if w := &stale[i]; w.Namespace == app.Cluster() && !w.DeletionTimestamp.IsZero() && mayHaveBrought(w) {
			return noticef(apis.ConditionMoveWarning, apis.ReasonMoving,
				"it is sent to cluster %s when that has removed the one of its name that was deleted (ManifestWork %s)", w.Namespace, w.Name)
		}
	}
	return nil
}

// hasPlaceOf tells whether a work of an Application of that name brings it to that one's place, or has brought it there and
// has not been heard of since.
func hasPlaceOf(w *workv1.ManifestWork, app *argocd.Application) bool {
	return work.NamedAfter(w.Name, app.Name) &&
		(sentTo(app, w) != nil || feedback.Manifest(&w.Status, work.Identifier(app)) != nil)
}

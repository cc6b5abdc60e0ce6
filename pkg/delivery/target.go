package delivery

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// checkClaimants blocks an Application whose target belongs to another Application. Before the creation of a work, the
// cache is not enough to prove that the claimants have no works. With the cache alone, two works created at the same
// time would both be sent.
func checkClaimants(v *view) block {
	if len(v.Claimants) > 0 && v.sent() == nil && !v.knows(FactClaimants) {
		return require(FactClaimants)
	}
	if v.ahead == nil {
		return pass
	}
	return blockf("Application %s has the same namespace and name on cluster %s: give this Application a different name, or a different "+
		"namespace in the annotation %s",
		types.NamespacedName{Namespace: v.ahead.App.Namespace, Name: v.ahead.App.Name}, v.App.Cluster(), apis.AnnotationAppNamespace)
}

// firstClaimant returns a claimant with precedence over the Application at the target; nil for none.
func (v *view) firstClaimant() *Claimant {
	for i := range v.Claimants {
		if c := &v.Claimants[i]; comesFirst(c, v.App, v.sent()) {
			return c
		}
	}
	return nil
}

// comesFirst reports whether a claimant has precedence over app at the common target. A sent Application precedes an
// unsent one. Otherwise the older Application has precedence. A claimant that may not be sent does not count.
func comesFirst(c *Claimant, app *argocd.Application, mine *workv1.ManifestWork) bool {
	theirs := sentTo(app, c.Work)
	if theirs == nil && !c.maySend() {
		return false
	}
	if (theirs == nil) != (mine == nil) {
		return mine == nil
	}
	a, b := c.App.CreationTimestamp, app.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && c.App.UID < app.UID
}

// maySend reports whether an unsent claimant can be sent: the claimant asks for delivery, and no rule forbids the
// delivery.
func (c *Claimant) maySend() bool {
	_, err := authorization.ReadSpec(c.App)
	return c.App.Pulled() && !c.App.ToBeReleased() && fit(c.App) && err == nil && c.Refused == nil
}

// giveWay withdraws a sent Application if a claimant with precedence was sent as well. After the apply of both works,
// the cluster's Application has both works as owners, and stays when one work is deleted. Until then giveWay does
// nothing. giveWay also does nothing if the claimant's work is being released, because a released work owns no
// objects.
func (d *decision) giveWay() {
	c, mine := d.ahead, d.sent()
	if c == nil || mine == nil || !d.report(mine).Applied() || !d.owns() || d.deletionRequested(mine) {
		return
	}
	theirs := sentTo(d.App, c.Work)
	if theirs == nil || !d.report(theirs).Applied() ||
		!c.App.DeletionTimestamp.IsZero() || !theirs.DeletionTimestamp.IsZero() || theirs.Spec.DeleteOption != nil {
		return
	}
	d.endWork(d.subject(mine), replacement)
}

// checkTargetFree blocks an Application whose target still has the copy of another Application, now moved or gone on
// the hub. The same work agent applies both works, and would overwrite the copy. The cluster's Argo CD would then
// prune the workload of the other Application.
func checkTargetFree(v *view) block {
	switch {
	case v.sent() != nil:
		return pass
	case !v.knows(FactNeighbours):
		return require(FactNeighbours)
	}
	for _, w := range v.Neighbours {
		owner, ok := work.HubApplication(w)
		if !ok || owner == v.Key || w.Name == work.Name(v.App) || !hasTargetOf(w, v.App) {
			continue
		}
		return blockf("cluster %s still has the Application %s/%s of ManifestWork %s, which belongs to the hub's Application %s: this Application "+
			"is sent after the removal of the other Application", w.Namespace, v.App.ClusterNamespace(), v.App.Name, w.Name, owner)
	}
	return pass
}

// hasTargetOf reports whether a work for another Application with the name of app keeps the target of app.
func hasTargetOf(w *workv1.ManifestWork, app *argocd.Application) bool {
	return work.NamedAfter(w.Name, app.Name) && slices.Contains(work.KeptTargets(w), targetOf(app))
}

// checkHubCopy blocks an Application whose target is on the hub itself, as a managed cluster, and has an Application
// from another source. The delivery would overwrite that Application.
func checkHubCopy(v *view) block {
	switch {
	case !v.target().Hub:
		return pass
	case !v.knows(FactHubCopy):
		return require(FactHubCopy)
	case v.HubCopy == nil || v.HubCopy.Annotations[apis.AnnotationWork] == work.Name(v.App):
		return pass
	}
	return blockf("cluster %s is the hub itself, which has an Application %s/%s of its own: set the annotation %s to a different namespace",
		v.App.Cluster(), v.App.ClusterNamespace(), v.App.Name, apis.AnnotationAppNamespace)
}

func checkOwnWork(v *view) block {
	if v.Own == nil || v.deletionRequested(v.Own) || work.Carries(v.Own, v.App) {
		return pass
	}
	return blockf("ManifestWork %s has the name that Towline needs, but was not made for this Application: delete the ManifestWork, or create "+
		"the work again under a different name",
		work.Key(v.App))
}

func checkOthersWork(v *view) block {
	if v.Own == nil || v.deletionRequested(v.Own) || v.OwnOwner == (types.NamespacedName{}) {
		return pass
	}
	return blockf("ManifestWork %s belongs to Application %s: give this Application another name", work.Key(v.App), v.OwnOwner)
}

// checkHubOperation blocks an Application while a sync by the hub's own Argo CD has not ended. With skip-reconcile,
// the hub's Argo CD (2.14 to 3.5) does not continue the sync, and the cluster would run the sync again.
func checkHubOperation(v *view) block {
	begun := v.App.Status.Pushed && v.App.Operation != nil && v.App.Status.OperationState.Running()
	if !begun || len(v.all()) > 0 {
		return pass
	}
	return blockf("the hub's own Argo CD has begun a sync that has not ended: remove the annotation %s until the sync has ended. To abandon "+
		"the sync instead, remove the operation: kubectl -n %s patch applications.argoproj.io %s --type merge -p '{\"operation\":null}'",
		apis.AnnotationSkipReconcile, v.App.Namespace, v.App.Name)
}

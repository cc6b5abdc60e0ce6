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

// checkClaimants is for an Application whose target is another's. Before a work is made beside theirs, the cache's word for
// their having none does not do: two that are made at a time would both be sent.
func checkClaimants(v *view) verdict {
	if len(v.Claimants) > 0 && v.sent() == nil && !v.knows(NeedClaimants) {
		return require(NeedClaimants)
	}
	c := v.firstClaimant()
	if c == nil {
		return pass
	}
	return blockf("Application %s has the same namespace and name on cluster %s: give this one another name, or another %s",
		types.NamespacedName{Namespace: c.App.Namespace, Name: c.App.Name}, v.App.Cluster(), apis.AnnotationAppNamespace)
}

// firstClaimant is a claimant that keeps the target from the Application; nil for none.
func (v *view) firstClaimant() *Claimant {
	for i := range v.Claimants {
		if c := &v.Claimants[i]; comesFirst(c, v.App, v.sent()) {
			return c
		}
	}
	return nil
}

// comesFirst tells whether a claimant keeps the target that it shares with app: the one that has been sent keeps it; of two
// that have not, or both have, the older. One that may not be sent does not count.
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

// maySend tells whether a claimant that has not been sent can be: it asks for that, and nothing forbids it.
func (c *Claimant) maySend() bool {
	_, err := authorization.ReadSpec(c.App)
	return c.App.Pulled() && !c.App.ToBeReleased() && Fit(c.App) && err == nil && c.Refused == nil
}

// giveWay takes back an Application that was sent though a claimant that comes first was as well. The cluster's Application
// has both works for owners once both have been applied, and stays when one of them goes; until then nothing is done.
// Nor is it where the claimant's work owns nothing any more, since it is being released.
func (d *decision) giveWay() {
	c, mine := d.firstClaimant(), d.sent()
	if c == nil || mine == nil || !applied(mine) || !d.owns() || d.deletionRequested(mine) {
		return
	}
	theirs := sentTo(d.App, c.Work)
	if theirs == nil || !applied(theirs) ||
		!c.App.DeletionTimestamp.IsZero() || !theirs.DeletionTimestamp.IsZero() || theirs.Spec.DeleteOption != nil {
		return
	}
	if b := d.drop(d.subject(mine)); b != nil {
		d.plan.addWait(b.Wait)
	}
}

// checkTargetFree is for an Application whose target is another's still, which the hub has elsewhere by now, or not any more.
// The work agent would lay the one over the other, since both are its own, and Argo CD there would take what the other
// deployed for what is to be pruned.
func checkTargetFree(v *view) verdict {
	switch {
	case v.sent() != nil:
		return pass
	case !v.knows(NeedNeighbours):
		return require(NeedNeighbours)
	}
	for _, w := range v.Neighbours {
		owner, ok := work.HubApplication(w)
		if !ok || owner == v.Key || w.Name == work.Name(v.App) || !hasTargetOf(w, v.App) {
			continue
		}
		return blockf("cluster %s still has the Application %s/%s of ManifestWork %s, which is the hub's %s: "+
			"this one is sent after that one has been removed", w.Namespace, v.App.ClusterNamespace(), v.App.Name, w.Name, owner)
	}
	return pass
}

// hasTargetOf tells whether a work of an Application of that name keeps that one's target.
func hasTargetOf(w *workv1.ManifestWork, app *argocd.Application) bool {
	return work.NamedAfter(w.Name, app.Name) && slices.Contains(Targets(w), targetOf(app))
}

// Targets are the namespaces and names of its cluster that a work keeps from other Applications: where it brings its own, and
// where it has brought it and has not been heard of since. One may be named twice.
func Targets(w *workv1.ManifestWork) []types.NamespacedName {
	out := work.Targets(w)
	for i := range w.Status.ResourceStatus.Manifests {
		m := &w.Status.ResourceStatus.Manifests[i].ResourceMeta
		if m.Group == argocd.GroupVersion.Group && m.Resource == argocd.Resource {
			out = append(out, types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
		}
	}
	return out
}

// Frees tells whether a work keeps a target before a change that it does not keep after it.
func Frees(before, after *workv1.ManifestWork) bool {
	if before.Generation == after.Generation && sameManifests(before, after) { // most reports: nothing has to be parsed
		return false
	}
	kept := Targets(after)
	return slices.ContainsFunc(Targets(before), func(t types.NamespacedName) bool { return !slices.Contains(kept, t) })
}

// sameManifests tells whether two versions of a work report on the same manifests.
func sameManifests(a, b *workv1.ManifestWork) bool {
	return slices.EqualFunc(a.Status.ResourceStatus.Manifests, b.Status.ResourceStatus.Manifests,
		func(x, y workv1.ManifestCondition) bool { return x.ResourceMeta == y.ResourceMeta })
}

// checkHubCopy is for an Application whose target, on the hub itself as a managed cluster, is one that this one's work did not
// bring: it would be overwritten.
func checkHubCopy(v *view) verdict {
	switch {
	case !v.target().Hub:
		return pass
	case !v.knows(NeedHubCopy):
		return require(NeedHubCopy)
	case v.HubCopy == nil || v.HubCopy.Annotations[apis.AnnotationWork] == work.Name(v.App):
		return pass
	}
	return blockf("cluster %s is the hub itself, which has another Application %s/%s: set the annotation %s to another namespace",
		v.App.Cluster(), v.App.ClusterNamespace(), v.App.Name, apis.AnnotationAppNamespace)
}

func checkOwnWork(v *view) verdict {
	if v.Own == nil || v.deletionRequested(v.Own) || work.Carries(v.Own, v.App) {
		return pass
	}
	return blockf("ManifestWork %s has the name that Towline needs, but was not made for this Application: delete it or give it another name",
		work.Key(v.App))
}

func checkOthersWork(v *view) verdict {
	if v.Own == nil || v.deletionRequested(v.Own) || v.OwnOwner == (types.NamespacedName{}) {
		return pass
	}
	return blockf("ManifestWork %s belongs to Application %s: give this Application another name", work.Key(v.App), v.OwnOwner)
}

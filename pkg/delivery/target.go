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

// askClaimants is for an Application whose target is another's. Before a work is made beside theirs, the cache's word for
// their having none does not do: two that are made at a time would both be sent.
func askClaimants(d *decision, _ question) answer {
	mine := d.sent()
	if mine == nil && len(d.Claimants) > 0 && d.lacks(NeedClaimants) {
		return open
	}
	for i := range d.Claimants {
		c := &d.Claimants[i]
		if !comesFirst(c, d.App, mine) {
			continue
		}
		d.giveWay(c, mine)
		return because("Application %s has the same namespace and name on cluster %s: give this one another name, or another %s",
			types.NamespacedName{Namespace: c.App.Namespace, Name: c.App.Name}, d.App.Cluster(), apis.AnnotationAppNamespace)
	}
	return open
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
func (d *decision) giveWay(c *Claimant, mine *workv1.ManifestWork) {
	theirs := sentTo(d.App, c.Work)
	if mine == nil || theirs == nil || !applied(theirs) || !applied(mine) || !d.owns() || d.leaving(mine) ||
		!c.App.DeletionTimestamp.IsZero() || !theirs.DeletionTimestamp.IsZero() || theirs.Spec.DeleteOption != nil {
		return
	}
	if h := d.drop(mine); h != nil {
		d.wait(h.Wait)
	}
}

// askTargetFree is for an Application whose target is another's still, which the hub has elsewhere by now, or not any more.
// The work agent would lay the one over the other, since both are its own, and Argo CD there would take what the other
// deployed for what is to be pruned.
func askTargetFree(d *decision, _ question) answer {
	if d.sent() != nil || d.lacks(NeedNeighbours) {
		return open
	}
	for _, w := range d.Neighbours {
		owner, ok := work.HubApplication(w)
		if !ok || owner == d.Key || w.Name == work.Name(d.App) || !hasTargetOf(w, d.App) {
			continue
		}
		return because("cluster %s still has the Application %s/%s of ManifestWork %s, which is the hub's %s: "+
			"this one is sent after that one has been removed", w.Namespace, d.App.ClusterNamespace(), d.App.Name, w.Name, owner)
	}
	return open
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

// askHubCopy is for an Application whose target, on the hub itself as a managed cluster, is one that this one's work did not
// bring: it would be overwritten.
func askHubCopy(d *decision, _ question) answer {
	if !d.target().Hub || d.lacks(NeedHubCopy) || d.HubCopy == nil || d.HubCopy.Annotations[apis.AnnotationWork] == work.Name(d.App) {
		return open
	}
	return because("cluster %s is the hub itself, which has another Application %s/%s: set the annotation %s to another namespace",
		d.App.Cluster(), d.App.ClusterNamespace(), d.App.Name, apis.AnnotationAppNamespace)
}

func askOwnWork(d *decision, _ question) answer {
	if d.Own == nil || d.leaving(d.Own) || work.Carries(d.Own, d.App) {
		return open
	}
	return because("ManifestWork %s has the name that Towline needs, but was not made for this Application: delete it or give it another name",
		work.Key(d.App))
}

func askOthersWork(d *decision, _ question) answer {
	if d.Own == nil || d.leaving(d.Own) || d.OwnOwner == (types.NamespacedName{}) {
		return open
	}
	return because("ManifestWork %s belongs to Application %s: give this Application another name", work.Key(d.App), d.OwnOwner)
}

// askPredecessor is for an Application while the cluster removes an earlier one of its name, whose work was told to go before
// this one was there. The agent (v1.2.0) looks for other owners before it deletes, and not once more when it does: what
// another work has applied in between would be gone, until the agent looks again minutes later. The work's end wakes the
// decision that goes on.
func askPredecessor(d *decision, _ question) answer {
	if d.Own != nil {
		return open
	}
	for _, w := range d.Others {
		if w.Namespace != d.App.Cluster() {
			continue
		}
		if !d.leaving(w) && d.lacks(NeedOthers) { // its deletion may have been asked for a moment ago
			return open
		}
		if d.leaving(w) && work.Seen(w) {
			return because("it is sent to cluster %s after that has removed the deleted Application of the same name (ManifestWork %s)",
				w.Namespace, w.Name)
		}
	}
	return open
}

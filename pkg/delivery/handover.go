package delivery

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// handingOver are the steps, in order, to hand an Application over from a cluster to the hub's own Argo CD. After the
// steps, the work is deleted. The workload and the dependencies stay on the cluster.
var handingOver = []*Gate{
	releasePaused,
	enableFirst,
	withdrawFirst,
	{Name: "hand-over", step: prepareHandOver},
	keepOthers,
	dependenciesStay,
}

// prepareHandOver waits until the agent confirms that the cluster's Application has no finalizers, and no automated
// sync. A work without the agent's finalizer waits too. An earlier work of the same name may have delivered the
// Application, and the agent may still remove the workload: see unseen. Only an Application without any report from a
// cluster is handed over at once.
func prepareHandOver(v *view, s *subject) block {
	switch {
	case s.untouched:
		return done
	case work.CarriesRequest(s.ManifestWork) && !v.knows(FactReturn):
		return require(FactReturn)
	}
	updated, changed, err := v.prepared(s, nil, false)
	if err != nil {
		return unrendered(err)
	}
	if !work.CarriesRequest(updated) {
		handed, again := work.HandOver(updated)
		updated, changed = handed, changed || again
	}
	if !changed && v.report(s.ManifestWork).FinalizersDropped(false) {
		return done
	}
	wait := blockf("the work agent of cluster %s has not removed the finalizers yet", s.Namespace)
	if changed {
		return wait.changing(s.ManifestWork, updated)
	}
	return v.askAgain(s.ManifestWork, wait)
}

// handsOver reports whether the hub's own Argo CD now manages the Application of a work: skip-reconcile and the label
// are gone, and the destination is the cluster. An Application in deletion may still have the label. With the
// annotation release, the Application stays on the cluster nevertheless.
func (v *view) handsOver(w *workv1.ManifestWork) bool {
	switch {
	case v.App == nil, v.App.ReconcileSkipped(), v.App.ToBeReleased(), v.App.Pulled() && v.App.DeletionTimestamp.IsZero():
		return false
	}
	return v.pushesTo(w.Namespace)
}

// pushesTo reports whether the destination on the hub is the cluster, by the name or the address in the hub's own
// Argo CD.
func (v *view) pushesTo(cluster string) bool {
	name, server := v.App.Destination()
	switch given := v.Clusters[cluster].Server; {
	case name != "":
		return name == cluster
	case server == "" || server == apis.InClusterServer:
		return false
	case given != "":
		return server == given
	}
	return slices.Contains(v.Addresses[cluster], server)
}

// undecided reports whether the Argo CDs of the hub and of the cluster both deploy the Application of a work. Call
// undecided only for an Application with the label and without skip-reconcile. Only the author knows which Argo CD
// should deploy. Until the author decides, the cluster keeps the Application.
func (v *view) undecided(w *workv1.ManifestWork) bool {
	return v.pushesTo(w.Namespace) && !work.Released(w)
}

// waitsForRelease returns the text of the notice during a release or a hand-over.
func (v *view) waitsForRelease(ws works) block {
	clusters := strings.Join(clustersOf(ws), ", ")
	if len(only(ws, v.handsOver)) == 0 {
		return blockf("being released: waiting for the work agent of cluster %s to release the Application, which continues to run", clusters)
	}
	return blockf("being handed over to the hub's own Argo CD: waiting for cluster %s to remove the Applications Application and to keep the "+
		"deployed resources%s. Until this condition disappears, both Argo CDs may deploy: remove spec.syncPolicy.automated on the hub for this time",
		clusters, v.blockers(ws))
}

// notPushedYet explains how the hub's own Argo CD can take over a released Application; empty for another
// destination.
func (v *view) notPushedYet() string {
	cluster := v.App.Cluster()
	if !v.pushesTo(cluster) {
		return ""
	}
	return fmt.Sprintf(". Do not remove the annotation %s now: the Argo CDs of the hub and of cluster %s would both deploy the Application. "+
		"To hand the Application over to the hub's Argo CD, set the label again, wait until the Application is delivered, and remove the label "+
		"and the annotation in one step",
		apis.AnnotationSkipReconcile, cluster)
}

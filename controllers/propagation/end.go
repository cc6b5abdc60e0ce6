package propagation

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// ending is what to tell of a work whose deletion was asked for. The note has places for the cluster and the work's name.
type ending struct{ log, reason, action, note string }

var (
	removed = ending{
		log: "Deleted ManifestWork", reason: apis.ReasonWorkDeleted, action: "Delete",
		note: "asked cluster %s to remove the Application (ManifestWork %s)",
	}
	leftThere = ending{
		log: "Released ManifestWork", reason: apis.ReasonReleased, action: "Release",
		note: "cluster %s keeps the Application and all that it deployed; ManifestWork %s was deleted",
	}
	nothingSent = ending{
		log: "Released ManifestWork that its cluster has not seen", reason: apis.ReasonReleased, action: "Release",
		note: "nothing was sent to cluster %s: its work agent had not seen ManifestWork %s, which was deleted",
	}
)

// endWork deletes a work, if it is the one that only describes, and tells of it. One that is gone already is no error.
func (r *Reconciler) endWork(
	ctx context.Context, w *workv1.ManifestWork, app *argocd.Application, only client.Preconditions, as ending,
) error {
	if err := r.Delete(ctx, w, only); err != nil {
		return client.IgnoreNotFound(err)
	}
	workWrites.WithLabelValues("delete").Inc()
	ctrl.LoggerFrom(ctx).Info(as.log, "work", client.ObjectKeyFromObject(w).String())
	if app != nil {
		r.Events.Eventf(app, w, corev1.EventTypeNormal, as.reason, as.action, as.note, w.Namespace, w.Name)
	}
	return nil
}

// asRead describes exactly the work that was read, and none that anybody has changed since.
func asRead(w *workv1.ManifestWork) client.Preconditions {
	return client.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}
}

// unheard tells whether the cluster cannot have heard of an Application's own work, so that nothing is there to be let
// go of: the agent (v1.2.0) applies nothing before its finalizer is on the work.
//
// That is not enough for an Application that any cluster has ever reported on, or that is gone. A work of its name may
// have brought it and have gone without the agent, as with a ManagedCluster that was imported again, or may have come
// out of a backup: what is there is still held by that name, and the agent destroys it an hour after it finds no work.
func unheard(app *argocd.Application, w *workv1.ManifestWork) bool {
	if app == nil || w.Name != work.Name(app) ||
		slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer) || len(w.Status.Conditions) > 0 {
		return false
	}
	return !reportedOn(app)
}

// reportedOn tells whether a cluster has ever reported on the Application.
func reportedOn(app *argocd.Application) bool {
	known := app.Status
	known.Conditions = nil // the hub's own
	return !known.Empty() || len(known.Unreadable) > 0
}

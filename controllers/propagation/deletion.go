package propagation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/report"
)

// letGo takes Argo CD's finalizers off an Application whose cluster is not waited for: because someone says so, or
// because there is no cluster any more that could answer. It tells whether that was so. The deletion of works that
// waited for their agents is asked for at once: nothing on the hub will wait for them any more.
func (r *Reconciler) letGo(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) (bool, error) {
	cluster, err := r.cluster(ctx, app.Cluster())
	if err != nil {
		return false, err
	}
	if cluster == nil && canBeSomewhere(app) { // or the cache is behind
		if err := r.Live.Get(ctx, client.ObjectKey{Name: app.Cluster()}, &clusterv1.ManagedCluster{}); !gone.Is(err) {
			return false, err
		}
	}
	var why string
	switch {
	case app.ToBeForced():
		why = "the annotation " + apis.AnnotationForceDelete + " says not to wait"
	case cluster == nil:
		why = "there is no such ManagedCluster any more"
	case !cluster.DeletionTimestamp.IsZero():
		why = "the ManagedCluster is being deleted"
	case !cluster.Spec.HubAcceptsClient:
		why = "the ManagedCluster is not accepted any more"
	default:
		return false, nil
	}
	for i := range works {
		if err := r.deleteWork(ctx, &works[i], app); err != nil {
			return false, err
		}
	}
	if err := r.releaseFinalizers(ctx, app); err != nil {
		return false, err
	}
	r.Events.Eventf(app, nil, corev1.EventTypeWarning, apis.ReasonLetGo, "Delete",
		"gone from the hub without the word of cluster %s: %s; Application %s/%s and what it deployed may remain there",
		app.Cluster(), why, app.ClusterNamespace(), app.Name)
	return true, nil
}

// waitsForCluster is what to tell of an Application whose cluster is waited for.
func (r *Reconciler) waitsForCluster(ctx context.Context, app *argocd.Application) (*Problem, error) {
	cluster, err := r.cluster(ctx, app.Cluster())
	if err != nil {
		return nil, err
	}
	hint := ""
	if cluster != nil {
		if away := report.Unreachable(cluster); away != "" {
			hint = "; " + away + "; to let go all the same, set the annotation " + apis.AnnotationForceDelete + " to \"true\""
		}
	}
	return noticef(apis.ConditionDeletionWarning, apis.ReasonDeleting,
		"being deleted since %s: waiting for cluster %s to remove the Application and what it deployed%s",
		app.DeletionTimestamp.UTC().Format(time.RFC3339), app.Cluster(), hint), nil
}

// finalizeReleased is for an Application that is being deleted and asks to be let go of, or names no cluster any more:
// the cluster keeps all.
func (r *Reconciler) finalizeReleased(ctx context.Context, app *argocd.Application) error {
	notice, err := r.releaseAll(ctx, app)
	if err == nil && notice == nil {
		notice, err = r.releaseUnseen(ctx, app)
	}
	switch {
	case err != nil:
		return err
	case notice == nil:
		return r.releaseFinalizers(ctx, app)
	}
	if done, err := r.letGo(ctx, app, nil); done || err != nil {
		return err
	}
	return notice
}

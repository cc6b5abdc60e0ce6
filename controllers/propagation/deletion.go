package propagation

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// forsaken are the clusters of those that are not waited for, each with the reason: because someone says so, or because
// there is no cluster any more that could answer. Each is judged by itself: another that is there still has what it has.
func (r *Reconciler) forsaken(ctx context.Context, app *argocd.Application, clusters []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range clusters {
		why, err := r.unanswering(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case app.ToBeForced():
			why = "the annotation " + apis.AnnotationForceDelete + " says not to wait"
		}
		if why != "" {
			out[name] = why
		}
	}
	return out, nil
}

// unanswering is why a cluster will never answer; empty for one that may.
func (r *Reconciler) unanswering(ctx context.Context, name string) (string, error) {
	cluster, err := r.cluster(ctx, name)
	switch {
	case err != nil:
		return "", err
	case cluster == nil: // or the cache is behind
		if err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &clusterv1.ManagedCluster{}); !gone.Is(err) {
			return "", err
		}
		return "there is no such ManagedCluster any more", nil
	}
	return detached(cluster), nil
}

// detached is why the hub has let go of a cluster that it still has; empty where it has not.
func detached(cluster *clusterv1.ManagedCluster) string {
	switch {
	case !cluster.DeletionTimestamp.IsZero():
		return "the ManagedCluster is being deleted"
	case !cluster.Spec.HubAcceptsClient:
		return "the ManagedCluster is not accepted any more"
	}
	return ""
}

// clustersOf are the clusters of works, sorted.
func clustersOf(works []workv1.ManifestWork) []string {
	out := make([]string, len(works))
	for i := range works {
		out[i] = works[i].Namespace
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// letGo takes Argo CD's finalizers off an Application whose clusters are not waited for, and says so.
func (r *Reconciler) letGo(ctx context.Context, app *argocd.Application, forsaken map[string]string) error {
	if err := r.releaseFinalizers(ctx, app); err != nil {
		return err
	}
	for _, cluster := range slices.Sorted(maps.Keys(forsaken)) {
		r.Events.Eventf(app, nil, corev1.EventTypeWarning, apis.ReasonLetGo, "Delete",
			"gone from the hub without the word of cluster %s: %s; Application %s/%s and what it deployed may remain there",
			cluster, forsaken[cluster], app.ClusterNamespace(), app.Name)
	}
	return nil
}

// await ends an Application when no cluster of its works is waited for any more, and otherwise returns what to tell of
// those that are. The deletion of works that waited for agents which are not waited for is asked for at once: nothing on the
// hub will wait for them.
func (r *Reconciler) await(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) (*Problem, error) {
	forsaken, err := r.forsaken(ctx, app, clustersOf(works))
	if err != nil {
		return nil, err
	}
	var waited []workv1.ManifestWork
	for i := range works {
		if forsaken[works[i].Namespace] == "" {
			waited = append(waited, works[i])
		} else if err := r.deleteWork(ctx, &works[i], app); err != nil {
			return nil, err
		}
	}
	if len(waited) == 0 {
		return nil, r.letGo(ctx, app, forsaken)
	}
	away, err := r.away(ctx, clustersOf(waited))
	if err != nil {
		return nil, err
	}
	notice := noticef(apis.ConditionDeletionWarning, apis.ReasonDeleting,
		"being deleted since %s: waiting for cluster %s to remove the Application and what it deployed%s%s",
		app.DeletionTimestamp.UTC().Format(time.RFC3339), strings.Join(clustersOf(waited), ", "), obstacles(waited), away)
	return notice, r.tellOperations(ctx, app, waited, notice)
}

// away is to be put behind a notice of clusters that are waited for: which of them cannot be heard of, and what to do.
func (r *Reconciler) away(ctx context.Context, clusters []string) (string, error) {
	var b strings.Builder
	for _, name := range clusters {
		cluster, err := r.cluster(ctx, name)
		if err != nil {
			return "", err
		}
		if cluster == nil {
			continue
		}
		if why := managedcluster.Unreachable(cluster); why != "" {
			b.WriteString("; " + why)
		}
	}
	if b.Len() > 0 {
		b.WriteString("; to let go all the same, set the annotation " + apis.AnnotationForceDelete + " to \"true\"")
	}
	return b.String(), nil
}

// finalizeReleased is for an Application that is being deleted and asks to be let go of, names no cluster any more, or has
// lost its label: the clusters keep all.
func (r *Reconciler) finalizeReleased(ctx context.Context, app *argocd.Application) error {
	notice, err := r.releaseAll(ctx, app)
	if err == nil && notice == nil {
		notice, err = r.releaseUnseen(ctx, app)
	}
	switch {
	case err != nil:
		return err
	case notice == nil:
		return r.endReleased(ctx, app)
	}
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil {
		return err
	}
	clusters := clustersOf(works)
	if len(clusters) == 0 { // the one that the cache does not show
		clusters = []string{app.Cluster()}
	}
	forsaken, err := r.forsaken(ctx, app, clusters)
	if err != nil {
		return err
	}
	if len(forsaken) == len(clusters) {
		return r.letGo(ctx, app, forsaken)
	}
	away, err := r.away(ctx, slices.DeleteFunc(clusters, func(c string) bool { return forsaken[c] != "" }))
	notice.Message += away
	return problemOr(notice, err)
}

// endReleased takes Argo CD's finalizers off an Application that no cluster is asked about any more. One that has lost its
// label is not expected to go by Towline, so that is told.
func (r *Reconciler) endReleased(ctx context.Context, app *argocd.Application) error {
	err := r.releaseFinalizers(ctx, app)
	if err == nil && app.Labels[apis.LabelPull] == "" {
		r.Events.Eventf(app, nil, corev1.EventTypeNormal, apis.ReasonReleased, "Delete",
			"gone from the hub: without the label %s no cluster was asked to remove anything", apis.LabelPull)
	}
	return err
}

// leftToArgoCD is for an Application that is being deleted and that the hub's own Argo CD answers for, as it seems: its
// finalizers are not Towline's to take off. What was sent is let go of, as without a deletion.
func (r *Reconciler) leftToArgoCD(ctx context.Context, app *argocd.Application) error {
	notice, err := r.releaseAll(ctx, app)
	if err != nil || !app.Cascades() {
		return problemOr(notice, err)
	}
	p := noticef(apis.ConditionDeletionWarning, apis.ReasonDeleting,
		"being deleted since %s: left to the hub's own Argo CD, since the annotation %s is not \"true\"; where none takes its finalizers off, "+
			"set that annotation to \"true\", and the annotation %s too if what runs on a cluster is to stay there",
		app.DeletionTimestamp.UTC().Format(time.RFC3339), apis.AnnotationSkipReconcile, apis.AnnotationRelease)
	return p.meanwhile(notice)
}

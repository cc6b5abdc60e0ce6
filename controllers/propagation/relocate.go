package propagation

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// relocated is the Application as it may be sent where its work has it in another namespace of the same cluster. With
// the work's next word the agent removes the Application there, and a cascade would take the workload, which the new one
// is to take over: so the old one loses its finalizers first. It returns a Problem until the agent has applied that, and as
// long as others there hold the old one by theirs. An agent that has not answered a request yet is waited for as usual,
// with the Application where it was.
func (r *Reconciler) relocated(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster, existing *workv1.ManifestWork,
) (*argocd.Application, error) {
	if !existing.DeletionTimestamp.IsZero() {
		return app, nil
	}
	from := placeIn(existing, app)
	if from.Namespace == app.ClusterNamespace() || unheard(app, existing) || !work.Took(existing) ||
		!work.CarriesTo(existing, from) { // the cluster has changed what the work carries
		return app, nil
	}
	if err := r.contested(ctx, app, existing); err != nil {
		return nil, err
	}
	if work.CarriesRequest(existing) {
		there := work.At(app, existing)
		return there, r.permitted(ctx, there, cluster)
	}
	notice := noticef(apis.ConditionMoveWarning, apis.ReasonMoving,
		"moving to namespace %s of cluster %s: waiting for its work agent to take the finalizers off the Application in namespace %s, "+
			"so that what it deployed stays", app.ClusterNamespace(), app.Cluster(), from.Namespace)
	updated, changed := work.Removable(existing, nil)
	switch {
	case changed:
		if err := r.rewrite(ctx, existing, updated); err != nil {
			return nil, err
		}
	case heeded(existing, false):
		return app, nil
	case obstacle(existing) != "":
		notice.Message += "; but " + obstacle(existing) + ". To change the Application there, take the change of namespace back"
	}
	return nil, notice
}

// placeIn is where the work of an Application has it on the cluster, as far as it says.
func placeIn(w *workv1.ManifestWork, app *argocd.Application) types.NamespacedName {
	place := types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
	if len(w.Spec.ManifestConfigs) > 0 {
		place.Namespace = w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace
	}
	return place
}

// relabel puts labels on a work that the Application must have, which the cache looks for, and changes nothing else.
func (r *Reconciler) relabel(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, labels map[string]string) error {
	if err := r.contested(ctx, app, w); err != nil {
		return err
	}
	labelled := w.DeepCopy()
	for key, value := range labels {
		metav1.SetMetaDataLabel(&labelled.ObjectMeta, key, value)
	}
	if maps.Equal(labelled.Labels, w.Labels) {
		return nil
	}
	return r.rewrite(ctx, w, labelled)
}

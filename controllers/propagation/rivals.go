package propagation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// checkTarget returns a Problem when another Application has the namespace and name that this one is to have on its
// cluster. existing is this one's work; nil when there is none.
func (r *Reconciler) checkTarget(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster, existing *workv1.ManifestWork,
) error {
	for _, key := range index.ApplicationsOfTarget(ctx, r, app) {
		if key == client.ObjectKeyFromObject(app) {
			continue
		}
		first, err := r.comesFirst(ctx, key, app, existing)
		if err != nil {
			return err
		}
		if first {
			p := problemf(apis.ReasonTargetConflict,
				"Application %s has the same namespace and name on cluster %s: give this one another name, or another %s",
				key, app.Cluster(), apis.AnnotationAppNamespace)
			p.cause = p // the end of the other wakes this one, but not all that can make it give way
			return p
		}
	}
	if authorization.IsHub(cluster) {
		return r.checkHub(ctx, app)
	}
	return nil
}

// comesFirst tells whether the Application of that key keeps the target that it shares with app: the one that has
// been sent keeps it; of two that have not, or both have, the older.
func (r *Reconciler) comesFirst(
	ctx context.Context, key types.NamespacedName, app *argocd.Application, existing *workv1.ManifestWork,
) (bool, error) {
	rival := &argocd.Application{}
	if err := r.Get(ctx, key, rival); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	theirs, err := r.existing(ctx, rival)
	if err != nil {
		return false, err
	}
	if !rival.Pulled() && theirs == nil {
		return false, nil
	}
	if (theirs == nil) != (existing == nil) {
		return existing == nil, nil
	}
	a, b := rival.CreationTimestamp, app.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && rival.UID < app.UID, nil
}

// checkHub returns a Problem when the hub itself, as a managed cluster, has an Application of the target's namespace
// and name that this one's work did not bring: it would be overwritten.
func (r *Reconciler) checkHub(ctx context.Context, app *argocd.Application) error {
	there := &argocd.Application{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}, there)
	if apierrors.IsNotFound(err) || err == nil && there.Annotations[apis.AnnotationWork] == work.Name(app) {
		return nil
	}
	if err != nil {
		return err
	}
	p := problemf(apis.ReasonLocalClusterConflict,
		"cluster %s is the hub itself, which has another Application %s/%s: set the annotation %s to another namespace",
		app.Cluster(), app.ClusterNamespace(), app.Name, apis.AnnotationAppNamespace)
	p.cause = p
	return p
}

// rivals are the other Applications with the target of one that came, went or changed its target.
func (r *Reconciler) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, key := range index.ApplicationsOfTarget(ctx, r, obj.(*argocd.Application)) {
		if key != client.ObjectKeyFromObject(obj) {
			out = append(out, reconcile.Request{NamespacedName: key})
		}
	}
	return out
}

package dependencies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
)

// project tells what becomes of the work that carries an AppProject. It goes ahead of the Applications: it needs one
// that may be on the cluster, not one that is there. Once there it stays, and follows the hub's, as long as anything
// that was sent there uses it, be it forbidden by now or on its way to be removed: a project that has become narrower
// must do so there as well, and Argo CD does not remove an Application whose project it does not find.
func (r *Reconciler) project(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork) (want, error) {
	for _, app := range index.ApplicationsOfProjectWork(ctx, r, key) {
		may, err := r.travels(ctx, &app)
		if err != nil {
			return keep, err
		}
		if may && app.DeletionTimestamp.IsZero() {
			return r.renderProject(ctx, key.Namespace, dependency.ReadSpec(&app).Project)
		}
	}
	if existing == nil {
		return keep, nil
	}
	specs, all, err := r.carried(ctx, key.Namespace)
	if err != nil {
		return keep, err
	}
	for _, s := range specs {
		if dependency.ProjectKey(key.Namespace, s.Project) == key {
			return r.renderProject(ctx, key.Namespace, s.Project)
		}
	}
	if !all {
		return keep, nil
	}
	return end, nil
}

// renderProject is the work that carries a project to a cluster. One that is gone from the hub stays as it was there:
// its Applications are on the cluster still.
func (r *Reconciler) renderProject(ctx context.Context, cluster, name string) (want, error) {
	p := &argocd.AppProject{}
	err := r.Get(ctx, types.NamespacedName{Namespace: r.ArgoCDNamespace, Name: name}, p)
	if apierrors.IsNotFound(err) {
		return keep, nil
	}
	if err != nil {
		return keep, err
	}
	if !r.projectTravels(p) {
		return letGo, nil
	}
	to, err := r.target(ctx, cluster)
	if err != nil || !to.known {
		return keep, err
	}
	if r.shared(to) {
		return letGo, nil
	}
	w, err := dependency.RenderProject(p, to.Cluster, to.namespace)
	return fitting(want{work: w}, err)
}

func (r *Reconciler) projectTravels(p *argocd.AppProject) bool {
	return r.Projects && p.Name != argocd.DefaultProject && p.Annotations[apis.AnnotationPropagate] != "false"
}

// secrets are those of the hub's Argo CD that are a repository's. They are the cache's own.
func (r *Reconciler) secrets(ctx context.Context) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := r.List(ctx, list, client.InNamespace(r.ArgoCDNamespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

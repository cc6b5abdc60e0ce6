package companions

import (
	"cmp"
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/companion"
	"github.com/towline-io/towline/pkg/work"
)

// travels tells whether an Application may be on its cluster as the hub has it now, by the hub's objects alone.
func (r *Reconciler) travels(ctx context.Context, app *argocd.Application) (bool, error) {
	if !app.Pulled() || !app.ReconcileSkipped() || app.Cluster() == "" {
		return false, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.Get(ctx, types.NamespacedName{Name: app.Cluster()}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	request, err := authorization.Read(app)
	if err != nil {
		return false, nil //nolint:nilerr // propagation says so on the Application
	}
	refusal, err := r.Grants.Check(ctx, app, request, cluster)
	return err == nil && refusal == nil, err
}

// sent tells whether an Application that may be on its cluster has a work there.
func (r *Reconciler) sent(ctx context.Context, app *argocd.Application) (bool, error) {
	may, err := r.travels(ctx, app)
	if err != nil || !may {
		return false, err
	}
	own, err := r.work(ctx, work.Key(app))
	return own != nil && own.DeletionTimestamp.IsZero(), err
}

// carried are the specs of the Applications that the works of a cluster carry, the ones that are going included. The
// cluster may have changed them: they are good for keeping what the cluster has, and for nothing else.
func (r *Reconciler) carried(ctx context.Context, cluster string) ([]companion.Spec, error) {
	list := &workv1.ManifestWorkList{}
	if err := r.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var out []companion.Spec
	for i := range list.Items {
		out = append(out, specsIn(&list.Items[i])...)
	}
	return out, nil
}

// specsIn are the specs of the Applications that a work carries.
func specsIn(w *workv1.ManifestWork) []companion.Spec {
	if _, ok := companion.KindOf(w.Name); ok {
		return nil
	}
	var out []companion.Spec
	for _, m := range w.Spec.Workload.Manifests {
		app := &argocd.Application{}
		if json.Unmarshal(m.Raw, app) == nil && app.Kind == argocd.Kind {
			out = append(out, companion.ReadSpec(app))
		}
	}
	return out
}

// target is a cluster that companions go to.
type target struct {
	authorization.Cluster

	// namespace is where the cluster's Argo CD looks for AppProjects and Secrets.
	namespace string
}

// target is the cluster of that name. One that is not there has no works, so it does not matter what is said of it.
func (r *Reconciler) target(ctx context.Context, name string) (target, error) {
	c := &clusterv1.ManagedCluster{}
	err := r.Get(ctx, types.NamespacedName{Name: name}, c)
	c.Name = name
	return target{
		Cluster:   authorization.Describe(c),
		namespace: cmp.Or(c.Annotations[apis.AnnotationArgoCDNamespace], r.ClusterNamespace),
	}, client.IgnoreNotFound(err)
}

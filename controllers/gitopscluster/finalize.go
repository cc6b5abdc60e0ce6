package gitopscluster

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// finalize removes the Secrets of a GitOpsCluster that is being deleted, and lets it go once there are none left. As long
// as Applications target their clusters they stay as they are: without them, the ApplicationSets of a Placement that still
// stands would take its clusters for unknown, and their Applications off them.
func (r *Reconciler) finalize(ctx context.Context, g *v1beta1.GitOpsCluster) error {
	if !controllerutil.ContainsFinalizer(g, apis.FinalizerClusterSecrets) {
		return nil
	}
	o := &outcome{}
	for _, namespace := range g.Status.ArgoNamespaces {
		if err := r.leave(ctx, g, namespace, asItIs, o); err != nil {
			return err
		}
	}
	if len(without(g.Status.ArgoNamespaces, o.gone...)) > 0 {
		return cmp.Or(r.report(ctx, g, o), o.again())
	}
	r.tell(g, o, g.Status.Conditions)
	before := g.DeepCopy()
	controllerutil.RemoveFinalizer(g, apis.FinalizerClusterSecrets)
	return client.IgnoreNotFound(r.Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

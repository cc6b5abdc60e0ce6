package reading

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// Delivery reads the work and the ManagedCluster of an Application into the facts, as far as the user may read both.
func Delivery(ctx context.Context, c client.Reader, f *why.Facts) (err error) {
	if f.App.Cluster() == "" {
		return nil
	}
	f.Work, err = Get(ctx, c, work.Key(f.App), &workv1.ManifestWork{})
	if f.WorkUnread = apierrors.IsForbidden(err); err != nil && !f.WorkUnread {
		return err
	}
	cluster, err := Get(ctx, c, types.NamespacedName{Name: f.App.Cluster()}, &clusterv1.ManagedCluster{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err == nil && cluster != nil {
		managed := managedcluster.Of(cluster, nil)
		f.Managed = &managed
	}
	return err
}

package aggregation

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/report"
)

// observe looks at the Applications that have changed; the first time, at all.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName, s *set) error {
	if s.rows == nil {
		s.rows = report.NewSet(s.resources)
		s.mark(time.Now(), index.ApplicationsOfSet(ctx, r.Client, key)...)
	}
	taken := s.take()
	for app := range taken {
		changed, err := r.observeOne(ctx, key, s, app)
		if err != nil {
			s.mark(time.Now(), slices.Collect(maps.Keys(taken))...)
			return err
		}
		s.dirty = s.dirty || changed
		delete(taken, app)
	}
	s.before, s.resources = nil, nil
	return nil
}

// observeOne brings the row of an Application up to date, and tells whether that has changed it.
func (r *Reconciler) observeOne(ctx context.Context, key types.NamespacedName, s *set, name types.NamespacedName) (bool, error) {
	app := &argocd.Application{}
	err := r.Get(ctx, name, app, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return s.rows.Delete(name), nil
	}
	if err != nil {
		return false, err
	}
	if of, ok := index.SetOf(app); !ok || of != key {
		return s.rows.Delete(name), nil
	}
	seen, err := r.Inventory.Facts(ctx, app)
	if err != nil {
		return false, err
	}
	unreachable, err := r.unreachable(ctx, app.Cluster())
	if err != nil {
		return false, err
	}
	return s.rows.Put(name, report.Observe(app, seen, unreachable, s.known(name, app))), nil
}

// known is what the report says of the Application, or said at the start; nil when it says nothing.
func (s *set) known(name types.NamespacedName, app *argocd.Application) *report.Entry {
	if e := s.rows.Get(name); e != nil {
		return e
	}
	if row, ok := s.before[report.App(app)]; ok {
		return &report.Entry{Row: row}
	}
	return nil
}

// unreachable is why nothing can be heard of the cluster; empty when it is available. Of a cluster that does not exist
// it says nothing: that an Application cannot be sent there is said elsewhere.
func (r *Reconciler) unreachable(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.Get(ctx, types.NamespacedName{Name: name}, cluster, client.UnsafeDisableDeepCopy); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return managedcluster.Unreachable(cluster), nil
}

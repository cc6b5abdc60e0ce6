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

// observe reads the changed Applications. The first time, it reads all Applications of the set.
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

// observeOne updates the row of an Application, and reports whether the row has changed.
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

// known returns the Application's current row, or the row in the report at the start; nil for none.
func (s *set) known(name types.NamespacedName, app *argocd.Application) *report.Entry {
	if e := s.rows.Get(name); e != nil {
		return e
	}
	if row, ok := s.before[report.App(app)]; ok {
		return &report.Entry{Row: row}
	}
	return nil
}

// unreachable returns why the cluster cannot report; empty for an available cluster. It returns an empty reason for a
// cluster that does not exist, because propagation reports a missing cluster.
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

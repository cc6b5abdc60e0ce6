package resourcetree

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch

// Access decides which Applications' resources argocd-server may reach on their clusters.
type Access struct {
	// Reader reads the shared cache.
	client.Reader

	// Paths tells which clusters argocd-server can reach.
	Paths *Paths

	// Grants tells which clusters Applications may use. Propagation uses the same grants.
	Grants *grants.Checker

	// Reports returns the reported live resources. A nil Reports means no live resources.
	Reports Reports
}

// scope returns the resources that argocd-server may reach for an Application on the cluster, or nil for none. The
// scope has three conditions: argocd-server has a path to the cluster, the Application has the grant for the cluster
// now, and the cluster has applied the Application's own work.
func (a *Access) scope(ctx context.Context, app *argocd.Application) (*authorization.Scope, error) {
	if a == nil || !a.Paths.live(ctx, app) {
		return nil, nil
	}
	if w, err := hub.Get(ctx, a.Reader, work.Key(app), &workv1.ManifestWork{}); w == nil || err != nil || !work.Delivered(w, app) {
		return nil, err
	}
	cluster, err := hub.Get(ctx, a.Reader, types.NamespacedName{Name: app.Cluster()}, &clusterv1.ManagedCluster{})
	if cluster == nil || err != nil || managedcluster.Of(cluster, nil).NotWaitedFor() != "" {
		return nil, err
	}
	return a.granted(ctx, app, cluster)
}

// granted returns the resources that an Application may reach on a cluster by its grants, or nil if a grant is missing.
func (a *Access) granted(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Scope, error) {
	request, err := authorization.ReadSpec(app)
	if err != nil {
		return nil, nil //nolint:nilerr // propagation does not send the Application, and tells its user why
	}
	if refusal, err := a.Grants.Check(ctx, app, request, cluster); refusal != nil || err != nil {
		return nil, err
	}
	project, err := a.Grants.Project(ctx, request.Project)
	if project == nil || err != nil {
		return nil, err
	}
	annotations, err := settings.ClusterAnnotations(ctx, a.Reader, cluster.Name)
	if err != nil {
		return nil, err
	}
	return &authorization.Scope{Project: project, Cluster: authorization.Describe(cluster, annotations)}, nil
}

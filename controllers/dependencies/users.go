package dependencies

import (
	"cmp"
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// travels tells whether an Application may be on its cluster as the hub has it now, by the hub's objects alone, and
// neither is let go of nor waits for the end of a pause. An operation that it requests does not matter: where that may
// not travel, it alone is held back.
func (r *Reconciler) travels(ctx context.Context, app *argocd.Application) (bool, error) {
	if !app.Pulled() || !app.ReconcileSkipped() || app.ToBeReleased() || app.Cluster() == "" {
		return false, nil
	}
	if may, err := r.permits(ctx, app, authorization.ReadSpec); err != nil || !may {
		return false, err
	}
	by, err := r.Pauses.By(ctx, app)
	return err == nil && by == "", err
}

// permits tells whether an Application may have what is read of it, on the cluster that it names.
func (r *Reconciler) permits(
	ctx context.Context, app *argocd.Application, read func(*argocd.Application) (authorization.Request, error),
) (bool, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := r.Get(ctx, types.NamespacedName{Name: app.Cluster()}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	request, err := read(app)
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
// cluster may have changed them: they are good for keeping what the cluster has, and for nothing else. A work that
// carries a request for the moment does not tell what its Application is there: the hub's counts for it, and it is not
// all that may be in use.
func (r *Reconciler) carried(ctx context.Context, cluster string) (specs []dependency.Spec, all bool, err error) {
	list := &workv1.ManifestWorkList{}
	if err := r.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, err
	}
	all = true
	for i := range list.Items {
		w := &list.Items[i]
		there, request := read(w)
		for _, app := range there {
			specs = append(specs, app.spec)
		}
		if request {
			all = false
			specs = append(specs, r.specsOfHub(ctx, w)...)
		}
	}
	return specs, all, nil
}

// specsOfHub are those of the Applications that must have the work, as the hub has them.
func (r *Reconciler) specsOfHub(ctx context.Context, w *workv1.ManifestWork) []dependency.Spec {
	var out []dependency.Spec
	for _, app := range index.OfWork(ctx, r, client.ObjectKeyFromObject(w)) {
		out = append(out, dependency.ReadSpec(&app))
	}
	return out
}

// carried is an Application that a work carries: its namespace and name on the cluster, and what it uses.
type carried struct {
	key  types.NamespacedName
	spec dependency.Spec
}

// carriedBy are the Applications that a work carries, none for a dependency's.
func carriedBy(w *workv1.ManifestWork) []carried {
	apps, _ := read(w)
	return apps
}

// read are the Applications that a work carries, none for a dependency's, and whether it carries a request for one, which
// has no spec.
func read(w *workv1.ManifestWork) (apps []carried, request bool) {
	if _, ok := dependency.KindOf(w.Name); ok {
		return nil, false
	}
	for _, m := range w.Spec.Workload.Manifests {
		app := &argocd.Application{}
		switch {
		case json.Unmarshal(m.Raw, app) != nil || app.Kind != argocd.Kind:
		case len(app.Spec.Raw) == 0:
			request = true
		default:
			apps = append(apps, carried{client.ObjectKeyFromObject(app), dependency.ReadSpec(app)})
		}
	}
	return apps, request
}

// target is a cluster that dependencies go to.
type target struct {
	authorization.Cluster

	// known tells that there is such a ManagedCluster. Nothing is known of one that is missing, and what was sent there stays as
	// it is.
	known bool

	// namespace is where the cluster's Argo CD looks for AppProjects and Secrets.
	namespace string
}

// shared tells whether the cluster's Argo CD is the hub's own, which has its AppProjects and credentials already: what
// would travel would be laid over what it was made from.
func (r *Reconciler) shared(to target) bool { return to.Hub && to.namespace == r.ArgoCDNamespace }

// originals tells whether a work carries objects of the hub to where they are, on a cluster that is the hub. That may
// have come to be known after they were sent.
func (r *Reconciler) originals(ctx context.Context, w *workv1.ManifestWork) (bool, error) {
	if !dependency.AtHome(w) {
		return false, nil
	}
	to, err := r.target(ctx, w.Namespace)
	return to.Hub, err
}

// target is the cluster of that name.
func (r *Reconciler) target(ctx context.Context, name string) (target, error) {
	c := &clusterv1.ManagedCluster{}
	err := r.Get(ctx, types.NamespacedName{Name: name}, c)
	known := err == nil
	if client.IgnoreNotFound(err) != nil {
		return target{}, err
	}
	c.Name = name
	annotations, err := hubside.Annotations(ctx, r, name)
	return target{
		Cluster:   authorization.Describe(c, annotations),
		known:     known,
		namespace: cmp.Or(c.Annotations[apis.AnnotationArgoCDNamespace], r.ClusterNamespace),
	}, err
}

package propagation

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// observation has the observed facts about an Application, and the readers of the hub. The objects belong to the
// cache: do not change them.
type observation struct {
	delivery.Facts

	// cache reads from the cache, and live reads past the cache. reader is one of these two, and grants use the same
	// reader.
	cache, live, reader client.Reader
	grants              *grants.Checker

	// past is true if all objects were read past the cache.
	past bool

	// since is when the oldest unhandled change was seen; zero for none. It is for metrics only.
	since time.Time

	// traced are the times and writes of the reconcile, for the trace; nil for no trace.
	traced *traced

	// clusters are the existing ManagedClusters of Facts.Clusters.
	clusters map[string]*clusterv1.ManagedCluster
}

// observe reads the facts for most decisions about an Application. All facts come from the cache, unless the cache does
// not have the Application. The Application may then be gone or without the pull label, or the cache is behind. Only
// the API server can tell.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observation, error) {
	seen := &observation{cache: r.Client, live: r.Live, reader: r.Client, grants: r.Grants}
	seen.Now, seen.Key = r.now(), key
	if err := r.observeApplication(ctx, seen); err != nil || seen.Presence == delivery.Behind {
		return seen, err
	}
	if err := r.observeWorks(ctx, seen); err != nil {
		return nil, err
	}
	if err := seen.observeClusters(ctx); err != nil {
		return nil, err
	}
	if seen.App == nil {
		r.revocations.retain(key, nil)
		return seen, nil
	}
	var err error
	if seen.Paused, err = r.Pauses.OnHub(ctx, seen.App); err != nil {
		return nil, err
	}
	if err := r.observeRevoked(ctx, seen); err != nil || !delivery.Sent(seen.App) {
		return seen, err
	}
	return seen, r.observeTarget(ctx, seen)
}

func (r *Reconciler) observeApplication(ctx context.Context, seen *observation) (err error) {
	app := &argocd.Application{}
	err = r.Get(ctx, seen.Key, app, client.UnsafeDisableDeepCopy)
	if err == nil {
		seen.Presence = delivery.Present
		seen.App, err = r.Tracking.Unlabelled(ctx, app)
		return err
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	app = &argocd.Application{}
	err = r.Live.Get(ctx, seen.Key, app)
	switch {
	case err == nil && app.Labels[apis.LabelPull] != "":
		seen.Presence = delivery.Behind
	case err == nil:
		seen.Presence = delivery.Unlabelled
		seen.App, err = r.Tracking.Unlabelled(ctx, app)
		return err
	case !hub.IsAbsent(err):
		return err
	}
	return nil
}

// observeWorks reads the works of the Application from the cache: the own work, and further works with the Application
// in the annotations. The name of a work must fit the Application, or an earlier Application of the same name. A
// cluster can change the annotations of a work, but not the name. The own work of a different Application on the hub is
// left out: a reconcile of the owner repairs the annotations.
func (r *Reconciler) observeWorks(ctx context.Context, seen *observation) (err error) {
	own := types.NamespacedName{}
	if seen.App != nil && delivery.Named(seen.App) {
		own = work.Key(seen.App)
		if seen.Own, err = hub.Get(ctx, r.Client, own, &workv1.ManifestWork{}); err != nil {
			return err
		}
		if err := seen.observeOwner(ctx); err != nil {
			return err
		}
	}
	others, err := index.WorksNaming(ctx, r.Client, seen.Key, func(w *workv1.ManifestWork) bool {
		key := client.ObjectKeyFromObject(w)
		return key != own && seen.canHaveHad(ctx, key)
	})
	for i := range others {
		seen.Others = append(seen.Others, &others[i])
	}
	if err != nil {
		return err
	}
	if err := seen.observeMade(ctx, &r.uncached, own); err != nil {
		return err
	}
	if len(seen.Others) == 0 && seen.Own == nil && seen.Presence != delivery.Present {
		r.losses.forget(seen.Key)
	}
	return nil
}

// canHaveHad reports whether the Application, or an earlier Application of the same name, can have had a work. It
// returns false for the own work of a different Application.
func (seen *observation) canHaveHad(ctx context.Context, key types.NamespacedName) bool {
	return work.NamedAfter(key.Name, seen.Key.Name) &&
		!slices.ContainsFunc(index.ApplicationsOfWork(ctx, seen.cache, key), func(owner types.NamespacedName) bool { return owner != seen.Key })
}

// observeMade reads the noted works of the Application that the earlier reads from the cache did not show. The cache was
// behind, and may have caught up since. Or an older controller created the work without the label.
func (seen *observation) observeMade(ctx context.Context, uncached *uncachedWorks, own types.NamespacedName) error {
	for _, key := range uncached.of(seen.Key) {
		w, err := hub.Get(ctx, seen.cache, key, &workv1.ManifestWork{})
		cached := w != nil
		if err == nil && !cached {
			w, err = hub.Get(ctx, seen.live, key, &workv1.ManifestWork{})
		}
		if err != nil {
			return err
		}
		if cached || w == nil {
			uncached.forget(seen.Key, key)
		}
		switch {
		case w == nil, slices.ContainsFunc(seen.works(), func(known *workv1.ManifestWork) bool { return client.ObjectKeyFromObject(known) == key }):
		case key == own:
			seen.Own, seen.OwnUnwatched = w, !cached
			if err := seen.observeOwner(ctx); err != nil {
				return err
			}
		case seen.canHaveHad(ctx, key):
			seen.Others = append(seen.Others, w)
		}
	}
	return nil
}

// observeOwner sets OwnOwner to the Application in the annotations of the own work. The Application must
// exist, differ from the decided Application, and have a work with the same key. Otherwise OwnOwner stays empty.
func (seen *observation) observeOwner(ctx context.Context) error {
	seen.OwnOwner = types.NamespacedName{}
	if seen.Own == nil {
		return nil
	}
	owner, named := work.HubApplication(seen.Own)
	if !named || owner == seen.Key {
		return nil
	}
	other, err := hub.Get(ctx, seen.reader, owner, &argocd.Application{})
	if other != nil && other.Labels[apis.LabelPull] != "" && work.Key(other) == work.Key(seen.App) {
		seen.OwnOwner = owner // otherwise an edit changed the annotations, or the Application is gone
	}
	return err
}

// observeClusters reads the ManagedClusters of the target and of all works, and the namespaces of these clusters.
func (seen *observation) observeClusters(ctx context.Context) error {
	seen.Clusters, seen.clusters = map[string]managedcluster.Facts{}, map[string]*clusterv1.ManagedCluster{}
	var names []string
	if seen.App != nil && delivery.Named(seen.App) {
		names = append(names, seen.App.Cluster())
	}
	for _, w := range seen.works() {
		names = append(names, w.Namespace)
	}
	for _, name := range names {
		if _, known := seen.Clusters[name]; known {
			continue
		}
		cluster, err := hub.Get(ctx, seen.reader, types.NamespacedName{Name: name}, &clusterv1.ManagedCluster{})
		if err != nil {
			return err
		}
		namespace, err := settings.ReadCluster(ctx, seen.reader, name)
		if err != nil {
			return err
		}
		seen.Clusters[name] = managedcluster.Of(cluster, namespace)
		if cluster != nil {
			seen.clusters[name] = cluster
		}
	}
	seen.observeAddresses()
	return nil
}

// observeAddresses reads the addresses of the clusters, if the hub's own Argo CD may deploy the Application from now
// on.
func (seen *observation) observeAddresses() {
	seen.Addresses = nil
	if seen.App == nil || delivery.Sent(seen.App) {
		return
	}
	seen.Addresses = make(map[string][]string, len(seen.clusters))
	for name, cluster := range seen.clusters {
		seen.Addresses[name] = clustersecret.Servers(cluster)
	}
}

// works returns all observed works, with the own work first.
func (seen *observation) works() []*workv1.ManifestWork {
	if seen.Own == nil {
		return seen.Others
	}
	return append([]*workv1.ManifestWork{seen.Own}, seen.Others...)
}

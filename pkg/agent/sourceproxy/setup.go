package sourceproxy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// patience is how long the agent waits for its rights on the cluster after a start. The add-on towline-rights may bring
// the rights later.
const patience = 365 * 24 * time.Hour

// Add registers the proxy with a manager of the managed cluster. hub is the agent's connection to the hub, and namespace
// is the cluster's namespace on the hub.
func Add(mgr ctrl.Manager, hub cluster.Cluster, namespace string, o Options) error {
	address, err := o.URL()
	if err != nil {
		return fmt.Errorf("the address for the cluster's Argo CD %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(hub.GetConfig())
	if err != nil {
		return err
	}
	who := &identity{host: address.Hostname(), clock: clock.RealClock{}}
	to := Hub{Address: server, Transport: hub.GetHTTPClient().Transport, Namespace: namespace}
	proxy := newProxy(to, who, mgr.GetLogger().WithName("source"))
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return serve(ctx, newServer(proxy), o.BindAddress) })); err != nil {
		return err
	}
	return (&reconciler{writer: mgr.GetClient(), options: o, address: address, identity: who, clock: clock.RealClock{}}).setup(mgr)
}

// setup watches the three objects, and no other objects of the cluster.
func (r *reconciler) setup(mgr ctrl.Manager) error {
	own, err := watchedByName(mgr, r.keysSecret())
	if err != nil {
		return err
	}
	home, err := watchedByName(mgr, r.credentialsSecret(), r.certificatesConfigMap())
	if err != nil {
		return err
	}
	r.own, r.home = own, home
	enqueue := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	return ctrl.NewControllerManagedBy(mgr).
		Named("source").
		WatchesRawSource(source.Kind(own, client.Object(r.keysSecret()), enqueue)).
		WatchesRawSource(source.Kind(home, client.Object(r.credentialsSecret()), enqueue)).
		WatchesRawSource(source.Kind(home, client.Object(r.certificatesConfigMap()), enqueue)).
		WithOptions(controller.Options{CacheSyncTimeout: patience}).
		Complete(r)
}

// watchedByName returns a cache of the named objects. The rights of the agent name the same objects.
func watchedByName(mgr ctrl.Manager, objects ...client.Object) (cache.Cache, error) {
	by := map[client.Object]cache.ByObject{}
	for _, obj := range objects {
		by[obj] = cache.ByObject{
			Namespaces: map[string]cache.Config{obj.GetNamespace(): {}},
			Field:      fields.OneTermEqualSelector("metadata.name", obj.GetName()),
		}
	}
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ReaderFailOnMissingInformer: true, ByObject: by, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, err
	}
	return c, mgr.Add(c)
}

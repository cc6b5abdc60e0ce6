package managed

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/tree"
)

// readDelay is the delay between Argo CD's announcement and the read of the entry. Argo CD announces each change of each
// live resource, and writes the entry after the announcement.
const readDelay = 2 * time.Second

// listenAgain is the time until the next attempt to listen to Redis.
const listenAgain = 15 * time.Second

// Options are the settings of the package.
type Options struct {
	// Namespace is the cluster's namespace on the hub.
	Namespace string

	// Home is the namespace of the cluster's Argo CD.
	Home string

	// Work returns the ManifestWork that an Application came with; empty if another Application came with the work.
	Work func(ctx context.Context, app *argocd.Application) (string, error)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Add registers the controller with a manager of the managed cluster. hub is the agent's connection to the hub.
func Add(mgr ctrl.Manager, to cluster.Cluster, o Options) error {
	address, _, err := rest.DefaultServerUrlFor(to.GetConfig())
	if err != nil {
		return err
	}
	r := newReconciler(o, mgr.GetClient(), argocache.NewRedis(&argocache.Found{Reader: mgr.GetAPIReader(), Namespace: o.Home}),
		&hub{address: address, client: to.GetHTTPClient(), namespace: o.Namespace})
	return ctrl.NewControllerManagedBy(mgr).
		Named("managed-resources").
		Watches(&argocd.Application{}, r.compared()).
		WatchesRawSource(r.announced()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}). // an entry may need much memory
		Complete(r)
}

func newReconciler(o Options, reader client.Reader, redis *argocache.Redis, to *hub) *reconciler {
	return &reconciler{
		Options: o, cluster: reader, redis: redis, hub: to, renewals: renewal,
		ofHub: outage{
			failure:  "The hub does not take managed resources: argocd-server there shows no differences of the Applications",
			recovery: "The hub takes managed resources again",
		},
		ofRedis: outage{
			failure: "The Redis of the cluster's Argo CD cannot be read: the hub gets no managed resources. " +
				"Where a connection times out, a NetworkPolicy may block the agent: see docs/agent.md",
			recovery: "The Redis of the cluster's Argo CD answers again",
		},
	}
}

// compared enqueues an Application after each comparison with Git, and when the hub asks for a refresh.
func (r *reconciler) compared() handler.EventHandler {
	add := func(o client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
			moved := before.Annotations[apis.AnnotationWork] != after.Annotations[apis.AnnotationWork]
			asked := before.Refresh() == "" && after.Refresh() != ""
			if asked {
				r.sent.doubt(client.ObjectKeyFromObject(after))
			}
			if asked || moved || before.Status.ReconciledAt != after.Status.ReconciledAt {
				add(after, q)
			}
		},
	}
}

// announced enqueues an Application after an announcement of Argo CD.
func (r *reconciler) announced() source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for ctx.Err() == nil {
				err := r.redis.Listen(ctx, tree.Channels, func() {}, func(channel string) {
					q.AddAfter(reconcile.Request{NamespacedName: tree.OfChannel(channel, r.Home)}, readDelay)
				})
				r.ofRedis.note(ctx, err)
				select {
				case <-ctx.Done():
				case <-time.After(listenAgain):
				}
			}
		}()
		return nil
	})
}

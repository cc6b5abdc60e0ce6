package agent

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/agent/managed"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
)

const (
	// byWork finds the Applications that carry the mark of a ManifestWork.
	byWork = "work"

	// firstRetry is the first delay and lastRetry the longest delay before a failed reconcile is repeated. After an
	// outage of the hub, the agent may notice the hub's return only after lastRetry.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 15 * time.Second

	// hubPatience is how long the agent waits for the hub after a start. Without the hub, the agent has no work.
	hubPatience = 365 * 24 * time.Hour

	// impatience is the interval between log messages about an unreached hub.
	impatience = 30 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Options are the settings of an agent.
type Options struct {
	// Namespace and NotComparedAfter are fields of the Reconciler.
	Namespace        string
	NotComparedAfter time.Duration

	// ArgoCDTree is the namespace of the Argo CD whose live resources the agent reads. If empty, the agent reads no
	// live resources.
	ArgoCDTree string

	// ArgoCDManagedResources is the namespace of the Argo CD whose managed resources the agent sends to the hub. If empty,
	// the agent sends no managed resources.
	ArgoCDManagedResources string

	// Source are the settings of the source proxy.
	Source sourceproxy.Options
}

// Add registers the agent with a manager of the managed cluster. hub must be from NewHub.
func Add(ctx context.Context, mgr ctrl.Manager, hub cluster.Cluster, o Options) error {
	if err := mgr.Add(hub); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &argocd.Application{}, byWork, indexedWork); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return sayWhenAway(ctx, hub) })); err != nil {
		return err
	}
	r := &Reconciler{Cluster: mgr.GetClient(), Hub: hub.GetClient(), Namespace: o.Namespace, NotComparedAfter: o.NotComparedAfter}
	r.unmanaged.events = mgr.GetEventRecorder("towline-agent")
	if o.ArgoCDTree != "" {
		found := &argocache.Found{Reader: mgr.GetAPIReader(), Namespace: o.ArgoCDTree}
		r.Trees = &Trees{Redis: argocache.NewRedis(found), Home: o.ArgoCDTree}
	}
	if o.ArgoCDManagedResources != "" {
		if err := managed.Add(mgr, hub, managed.Options{Namespace: o.Namespace, Home: o.ArgoCDManagedResources, Work: r.workOf}); err != nil {
			return err
		}
	}
	if o.Source.Enabled() {
		if err := sourceproxy.Add(mgr, hub, o.Namespace, o.Source); err != nil {
			return err
		}
	}
	return r.setup(mgr, hub)
}

// sayWhenAway logs that the hub is not reached yet, so that the log explains an idle agent after a start. client-go
// logs nothing about a hub that refuses connections.
func sayWhenAway(ctx context.Context, hub cluster.Cluster) error {
	for ctx.Err() == nil {
		patience, cancel := context.WithTimeout(ctx, impatience)
		reached := hub.GetCache().WaitForCacheSync(patience)
		cancel()
		if reached {
			return nil
		}
		ctrl.LoggerFrom(ctx).Info("The hub has not been reached yet", "hub", hub.GetConfig().Host)
	}
	return nil
}

func (r *Reconciler) setup(mgr ctrl.Manager, hub cluster.Cluster) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("agent").
		For(&argocd.Application{}).
		Watches(&argocd.Application{}, r.sameMark()).
		WatchesRawSource(source.Kind(hub.GetCache(), reportMetadata(), r.applicationsOfReport())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 4,
			CacheSyncTimeout:        hubPatience,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		})
	if r.Trees != nil {
		b.WatchesRawSource(r.Trees.changes(r.Cluster))
	}
	return b.Complete(r)
}

func indexedWork(obj client.Object) []string {
	return []string{obj.GetAnnotations()[apis.AnnotationWork]}
}

// sameMark enqueues the other Applications with the same mark, when an Application is deleted or loses its mark: the
// agent may now report a different Application.
func (r *Reconciler) sameMark() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.enqueueMarked(ctx, e.Object.GetAnnotations()[apis.AnnotationWork], q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.GetAnnotations()[apis.AnnotationWork], e.ObjectNew.GetAnnotations()[apis.AnnotationWork]
			if before != after || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() {
				r.enqueueMarked(ctx, before, q)
			}
		},
	}
}

// applicationsOfReport enqueues the Applications of a report, when the report is deleted or changed and may need a new
// write. When the agent starts, the events of the Applications themselves enqueue each Application.
func (r *Reconciler) applicationsOfReport() handler.TypedEventHandler[*metav1.PartialObjectMetadata, reconcile.Request] {
	type object = *metav1.PartialObjectMetadata
	return handler.TypedFuncs[object, reconcile.Request]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[object], q queue) {
			r.enqueueMarked(ctx, e.ObjectNew.Name, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[object], q queue) {
			r.enqueueMarked(ctx, e.Object.Name, q, func(app types.NamespacedName) { r.pace.lost(app, e.Object.Name) })
		},
	}
}

// enqueueMarked enqueues the Applications with the mark of the named ManifestWork. Before, enqueueMarked calls the
// functions of first for each Application.
func (r *Reconciler) enqueueMarked(ctx context.Context, name string, q queue, first ...func(app types.NamespacedName)) {
	if name == "" {
		return
	}
	marked, err := r.marked(ctx, name)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		panic(err) // the cache lacks the index, or was not started: a mistake in the program
	}
	for i := range marked {
		app := client.ObjectKeyFromObject(&marked[i])
		for _, do := range first {
			do(app)
		}
		q.Add(reconcile.Request{NamespacedName: app})
	}
}

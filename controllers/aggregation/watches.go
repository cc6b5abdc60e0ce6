package aggregation

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/crd"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/report"
)

// crdName is the name of the CRD of reports.
const crdName = "multiclusterapplicationsetreports." + apis.Group

// SetupWithManager registers the controller. concurrency is the number of ApplicationSets that are reconciled in
// parallel.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	measured.Store(&r.memory)
	err := informer.OnEveryReplica(mgr.GetCache(), &argocd.Application{}, &clusterv1.ManagedCluster{}, metadata(types.NamespacedName{}))
	if err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("aggregation").
		For(&v1alpha1.MulticlusterApplicationSetReport{}, builder.OnlyMetadata).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(r.setOfApplication),
			builder.WithPredicates(applicationChanged())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.setsOfCluster),
			builder.WithPredicates(availabilityChanged())).
		WatchesRawSource(crd.Changes(mgr, crdName, r.ofReplacedCRD)).
		WithOptions(loop.LeaderOptions(concurrency))
	for _, s := range r.Inventory.Sources {
		b.WatchesRawSource(s.Changes(r.ofSource))
	}
	r.running, err = b.Build(r)
	return err
}

// ofReplacedCRD queues all reports after a change of the CRD, because the hub may now keep more or fewer fields.
func (r *Reconciler) ofReplacedCRD(context.Context) []reconcile.Request {
	r.schema.forget()
	return loop.Requests(r.memory.all())
}

// WatchSets watches ApplicationSets, because a report needs an existing ApplicationSet. Call WatchSets after
// SetupWithManager, once the hub serves sets.Kinds. A hub may have no ApplicationSets, or get the kind later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	return r.sets.Watch(mgr, r.running, r.setItself, created())
}

// created selects new ApplicationSets, and ApplicationSets recreated under the same name. After a deletion, the garbage
// collector deletes the report.
func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// setItself queues an ApplicationSet with Applications for pull or with a report. Most ApplicationSets may have
// neither.
func (r *Reconciler) setItself(ctx context.Context, set client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(set)
	if len(index.ApplicationsOfSet(ctx, r.Client, key)) == 0 && r.Get(ctx, key, metadata(key)) != nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// applicationChanged selects changes of the hub Application's fields in a row. The inventory delivers the reports of
// the cluster. The status on the hub comes from the same reports, so a changed status does not count again.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		was, _ := index.SetOf(before)
		is, _ := index.SetOf(after)
		return was != is ||
			report.App(before) != report.App(after) ||
			before.ClusterNamespace() != after.ClusterNamespace() ||
			!slices.EqualFunc(report.HubConditions(before), report.HubConditions(after), func(a, b argocd.Condition) bool {
				return a.Type == b.Type && a.Message == b.Message
			})
	}}
}

// availabilityChanged selects changes of the availability of a cluster, and of the time since when.
func availabilityChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return managedcluster.CameOrWent(e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster))
	}}
}

// setOfApplication is called for the old and for the new version of an Application. So a former set of the Application
// is queued too.
func (r *Reconciler) setOfApplication(_ context.Context, obj client.Object) []reconcile.Request {
	return r.requests(obj.(*argocd.Application))
}

// ofSource is for sources, because sources know Applications by name. A read of the cache needs no context.
func (r *Reconciler) ofSource(name types.NamespacedName) []reconcile.Request {
	return r.setOfName(context.Background(), name)
}

func (r *Reconciler) setOfName(ctx context.Context, name types.NamespacedName) []reconcile.Request {
	app := &argocd.Application{}
	if err := r.Get(ctx, name, app, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the deletion is a separate event
	}
	return r.requests(app)
}

func (r *Reconciler) setsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range index.ApplicationsOfCluster(ctx, r.Client, cluster.GetName()) {
		out = append(out, r.setOfName(ctx, name)...)
	}
	return out
}

// requests marks the Application for a new read, and returns the request of its set.
func (r *Reconciler) requests(app *argocd.Application) []reconcile.Request {
	set, ok := index.SetOf(app)
	if !ok {
		return nil
	}
	r.memory.set(set).mark(time.Now(), client.ObjectKeyFromObject(app))
	return []reconcile.Request{{NamespacedName: set}}
}

package propagation

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// SetupWithManager registers the controller. concurrency is the number of parallel reconciles.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	options := loop.Options(concurrency)
	options.NewQueue = loop.StandbyQueue(mgr.Elected(), r.known, setOf(r))
	r.losses.window = r.LossWindow
	r.losses.waits = func() bool { return loop.IsStandby(mgr.Elected()) }
	r.losses.spokenOf = func(app types.NamespacedName) bool { return spokenOf(r.Client, app) }
	b := ctrl.NewControllerManagedBy(mgr).Named("propagation").WithOptions(options)
	running, err := loop.Register(b, r.Watches()).Build(r)
	if err != nil {
		return err
	}
	r.running = running
	counted.Store(&r.states)
	if err := running.Watch(watchOlder(r)); err != nil {
		return err
	}
	return r.watchUnlabelled(mgr)
}

// Watches returns the watches on objects of the shared cache, with the watch of the Applications first. Applications
// without the pull label are in a separate cache: see Unlabelled. Watches of ApplicationSets are added later: see
// WatchSets.
func (r *Reconciler) Watches() []loop.Watch {
	return slices.Concat([]loop.Watch{
		loop.WatchSelf(&argocd.Application{},
			r.losses.watched(), r.uncached.watched(r.losses.waiting), applicationChanged(), r.times.watched(r.losses.waiting)),
		loop.WatchOf(&argocd.Application{}, r.claimants, targetChanged()),
		loop.WatchOf(&workv1.ManifestWork{}, r.applicationsOfWork, r.losses.worksWatched(), workChanged()),
		loop.WatchOf(&workv1.ManifestWork{}, r.waitingFor, targetFreed()),
		loop.WatchOf(&workv1.ManifestWork{}, unwatched(r.Client, &r.watchClaims), watchEnds()),
		loop.WatchOf(&clusterv1.ManagedCluster{}, r.applicationsOfCluster, clusterChanged()),
		loop.WatchOf(settings.ClusterNamespace(), r.applicationsOfCluster, settings.ClusterFactsChanged()),
	}, watchesOfOutages(r.Client, followsDecisions(r.Grants)), r.Grants.Watches(), r.Tracking.Watches(r.everything))
}

// spokenOf reports whether a cached work names an Application. It returns true after an error.
func spokenOf(cached client.Reader, app types.NamespacedName) bool {
	spoken := false
	_, err := index.WorksNaming(context.Background(), cached, app, func(*workv1.ManifestWork) bool {
		spoken = true
		return false // do not copy any work
	})
	return spoken || err != nil
}

// known reports whether the caches have an Application or a work of an Application. Without both, the Application needs
// no reconcile.
func (r *Reconciler) known(req reconcile.Request) bool {
	if len(r.uncached.of(req.NamespacedName)) > 0 {
		return true // also for a work outside the cache
	}
	ctx := context.Background()
	app := &argocd.Application{}
	if err := r.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); !apierrors.IsNotFound(err) {
		return true
	}
	return spokenOf(r.Client, req.NamespacedName) || !apierrors.IsNotFound(r.others.Get(ctx, req.NamespacedName, applicationMetadata()))
}

// setOf returns the ApplicationSet of a cached Application. The queue handles a backlog set by set. The report about
// an ApplicationSet then changes only for a short time, with few writes.
func setOf(cached client.Reader) func(reconcile.Request) string {
	return func(req reconcile.Request) string {
		app := &argocd.Application{}
		if err := cached.Get(context.Background(), req.NamespacedName, app, client.UnsafeDisableDeepCopy); err != nil {
			return ""
		}
		set, _ := app.ApplicationSet()
		return app.Namespace + "/" + set
	}
}

// applicationChanged selects updates of the fields read by propagation: see delivery.SameApplication. Only a few
// fields of the status are among these fields. The generation cannot exclude updates of the status: Application has no
// status subresource, so each update of the status also changes the generation.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !delivery.SameApplication(e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application))
	}}
}

// targetChanged selects the events which may free a target for a waiting Application: a deletion, and a change of
// target.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return index.Target(e.ObjectOld.(*argocd.Application)) != index.Target(e.ObjectNew.(*argocd.Application))
		},
	}
}

// targetFreed selects the changes of a work that free a target. One is the end of the work. The other is a move to a
// new namespace, after the work agent has reported that the old namespace is free. A work in deletion keeps the
// target.
func targetFreed() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if _, ok := dependency.KindOf(e.ObjectNew.GetName()); ok {
				return false // such a work has no Application
			}
			return work.Frees(e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork))
		},
	}
}

// workChanged selects the creation, the deletion and the edits of a work, the application by the agent, and the
// progress of requests.
func workChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !delivery.SameWork(e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork))
	}}
}

// clusterChanged selects the changes of a cluster with an effect on targets. For example, the labels of a cluster
// decide about the ManagedClusterSets of the cluster.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster)
		return managedcluster.Changed(before, after)
	}}
}

// applicationsOfWork returns the Applications whose own work this is, and the Application in the annotations. The
// reconcile of an owner may have to repair the work. The Application in the annotations may be gone, and its works
// then have to end. For a work with dependencies, applicationsOfWork returns the Applications in release on the
// cluster, because their release waits for the dependencies.
func (r *Reconciler) applicationsOfWork(ctx context.Context, obj client.Object) []reconcile.Request {
	if _, is := dependency.KindOf(obj.GetName()); is {
		return releasing(ctx, r, obj.GetNamespace())
	}
	keys := index.ApplicationsOfWork(ctx, r.Client, client.ObjectKeyFromObject(obj))
	if key, ok := index.HubApplication(obj); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return loop.Requests(keys)
}

// waitingFor returns the Applications whose target a work keeps. An update calls waitingFor for the old and for the new
// work.
func (r *Reconciler) waitingFor(ctx context.Context, obj client.Object) []reconcile.Request {
	var keys []types.NamespacedName
	for _, kept := range work.KeptTargets(obj.(*workv1.ManifestWork)) {
		target := &argocd.Application{}
		target.Namespace, target.Name, target.Annotations = kept.Namespace, kept.Name, map[string]string{apis.AnnotationCluster: obj.GetNamespace()}
		keys = append(keys, index.ApplicationsOfTarget(ctx, r.Client, target)...)
	}
	return loop.Requests(keys)
}

// watchEnds selects the changes of a work after which the work agent no longer watches a place because of the work.
func watchEnds() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before := work.Watches(e.ObjectOld.(*workv1.ManifestWork))
			return before != "" && before != work.Watches(e.ObjectNew.(*workv1.ManifestWork))
		},
	}
}

// unwatched returns the Applications of a place if no work lets the work agent watch the place any more, in reverse order
// of the names. The work of the first Application is next. A bulk deletion goes through the names in order: with the same
// order here, each deleted work would hand the watch to the next work in deletion.
func unwatched(cached client.Reader, claims *watchClaims) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		place := work.Watches(obj.(*workv1.ManifestWork))
		if place == "" || len(index.WorksWatching(ctx, cached, place)) > 0 {
			return nil
		}
		claims.forget(place)
		var keys []types.NamespacedName
		for _, app := range index.Applications(ctx, cached, index.ByCluster, obj.GetNamespace()) {
			if app.DeletionTimestamp == nil && work.WatchPlace(app) == place {
				keys = append(keys, client.ObjectKeyFromObject(app))
			}
		}
		slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(b.String(), a.String()) })
		return loop.Requests(keys)
	}
}

// releasing returns the Applications in release on a cluster.
func releasing(ctx context.Context, cached client.Reader, cluster string) []reconcile.Request {
	list := &workv1.ManifestWorkList{}
	if err := cached.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The works of a cluster cannot be listed from the cache")
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if key, ok := index.HubApplication(&list.Items[i]); ok && work.DependenciesStay(&list.Items[i]) {
			keys = append(keys, key)
		}
	}
	return loop.Requests(keys)
}

// applicationsOfCluster returns the Applications that ask for a cluster, and the Applications with works on the
// cluster. The latter may have moved away, and wait for the cluster.
func (r *Reconciler) applicationsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfCluster(ctx, r.Client, obj.GetName())
	return loop.Requests(append(keys, index.ApplicationsOfWorks(ctx, r.Client, client.InNamespace(obj.GetName()))...))
}

// everything returns all Applications.
func (r *Reconciler) everything(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &argocd.ApplicationList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The Applications cannot be listed from the cache")
	}
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return out
}

// claimants returns the further Applications with the same target as a new, deleted or changed Application.
func (r *Reconciler) claimants(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfTarget(ctx, r.Client, obj.(*argocd.Application))
	return loop.Requests(slices.DeleteFunc(keys, func(key types.NamespacedName) bool { return key == client.ObjectKeyFromObject(obj) }))
}

// WatchSets watches ApplicationSets: an ApplicationSet can pause Applications, and decides about their end. Call
// WatchSets after SetupWithManager, once the hub serves sets.Kinds. A hub may have no ApplicationSets, or get the kind
// later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	if err := r.Pauses.Watch(mgr, r.running, r.applicationsOfSet); err != nil {
		return err
	}
	w := endsOfSets(r.Client)
	return r.running.Watch(source.Kind(mgr.GetCache(), w.Object, w.Handler, w.Changed...))
}

// Sets returns the watches of ApplicationSets as data, for a hub with this kind.
func Sets(r *Reconciler) []loop.Watch {
	return []loop.Watch{r.Pauses.Sets(r.applicationsOfSet), endsOfSets(r.Client)}
}

// applicationsOfSet returns the Applications of an ApplicationSet, and former Applications of the set with remaining
// works.
func (r *Reconciler) applicationsOfSet(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfSet(ctx, r.Client, client.ObjectKeyFromObject(obj))
	ofSet := client.MatchingLabels{apis.LabelApplicationSetHash: work.SetHash(client.ObjectKeyFromObject(obj))}
	return loop.Requests(append(keys, index.ApplicationsOfWorks(ctx, r.Client, ofSet)...))
}

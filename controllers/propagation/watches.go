package propagation

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	options := retry.Options(concurrency)
	options.NewQueue = leaderless.Queue(mgr.Elected(), r.known, setOf(r))
	r.losses.window = r.LossWindow
	r.losses.waits = func() bool { return leaderless.Waits(mgr.Elected()) }
	r.losses.spokenOf = func(app types.NamespacedName) bool { return spokenOf(r.Client, app) }
	b := ctrl.NewControllerManagedBy(mgr).Named("propagation").WithOptions(options)
	running, err := wake.Register(b, r.Watches()).Build(r)
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

// Watches are the objects of the shared cache whose changes wake Applications, the Applications themselves first. Those
// without the pull label, and ApplicationSets, are in other caches: see Unlabelled and WatchSets.
func (r *Reconciler) Watches() []wake.Watch {
	return slices.Concat([]wake.Watch{
		wake.Self(&argocd.Application{},
			r.losses.watched(), r.uncached.watched(r.losses.waiting), applicationChanged(), r.times.watched(r.losses.waiting)),
		wake.Of(&argocd.Application{}, r.claimants, targetChanged()),
		wake.Of(&workv1.ManifestWork{}, r.applicationsOfWork, r.losses.worksWatched(), workChanged()),
		wake.Of(&workv1.ManifestWork{}, r.waitingFor, targetFreed()),
		wake.Of(&clusterv1.ManagedCluster{}, r.applicationsOfCluster, clusterChanged()),
		wake.Of(hubside.Namespace(), r.applicationsOfCluster, hubside.FactsChanged()),
	}, watchesOfOutages(r.Client, followsDecisions(r.Grants)), r.Grants.Watches(), r.Tracking.Watches(r.everything))
}

// spokenOf tells whether a work names an Application, as the cache has it.
func spokenOf(cached client.Reader, app types.NamespacedName) bool {
	spoken := false
	_, err := index.WorksNaming(context.Background(), cached, app, func(*workv1.ManifestWork) bool {
		spoken = true
		return false // nothing is copied
	})
	return spoken || err != nil
}

// known tells whether the hub has an Application, by what is cached, or a work that names it. Of others there is nothing to
// do.
func (r *Reconciler) known(req reconcile.Request) bool {
	if len(r.uncached.of(req.NamespacedName)) > 0 {
		return true // also one that the cache does not show
	}
	ctx := context.Background()
	app := &argocd.Application{}
	if err := r.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); !apierrors.IsNotFound(err) {
		return true
	}
	return spokenOf(r.Client, req.NamespacedName) || !apierrors.IsNotFound(r.others.Get(ctx, req.NamespacedName, applicationMetadata()))
}

// setOf tells the ApplicationSet of an Application, by what is cached. A backlog is worked off set by set: so each report changes for a
// short time, and takes few writes.
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

// applicationChanged lets through what propagation reads of an Application. Its status is not among it, and has no
// generation of its own to be told apart by: Application has no status subresource.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !delivery.SameApplication(e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application))
	}}
}

// targetChanged lets through what may free a target for another Application: an end, and a change of target.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return index.Target(e.ObjectOld.(*argocd.Application)) != index.Target(e.ObjectNew.(*argocd.Application))
		},
	}
}

// targetFreed lets through what frees a target that a work keeps: its end, and its change to another namespace once its agent
// has been heard to have left the one before. A work that is being deleted keeps its target.
func targetFreed() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if _, ok := dependency.KindOf(e.ObjectNew.GetName()); ok {
				return false // it carries no Application
			}
			return delivery.Frees(e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork))
		},
	}
}

// workChanged lets through the making, the end and the editing of a work, the moment when the agent has applied it,
// and how the requests that it carries get on.
func workChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !delivery.SameWork(e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork))
	}}
}

// clusterChanged lets through what decides whether a cluster can be a target, and whose: its labels put it into sets.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster)
		return managedcluster.Changed(before, after)
	}}
}

// applicationsOfWork are the Applications that must have this work, and the one that its annotations name: the
// first may have to repair it, the second may be gone. The Applications that are being released wait for the dependencies
// of their cluster.
func (r *Reconciler) applicationsOfWork(ctx context.Context, obj client.Object) []reconcile.Request {
	if _, is := dependency.KindOf(obj.GetName()); is {
		return releasing(ctx, r, obj.GetNamespace())
	}
	keys := index.ApplicationsOfWork(ctx, r.Client, client.ObjectKeyFromObject(obj))
	if key, ok := index.HubApplication(obj); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return wake.Requests(keys)
}

// waitingFor are the Applications of the targets that a work keeps. Of a change they are those before it and those after it.
func (r *Reconciler) waitingFor(ctx context.Context, obj client.Object) []reconcile.Request {
	var keys []types.NamespacedName
	for _, kept := range delivery.Targets(obj.(*workv1.ManifestWork)) {
		target := &argocd.Application{}
		target.Namespace, target.Name, target.Annotations = kept.Namespace, kept.Name, map[string]string{apis.AnnotationCluster: obj.GetNamespace()}
		keys = append(keys, index.ApplicationsOfTarget(ctx, r.Client, target)...)
	}
	return wake.Requests(keys)
}

// releasing are the Applications that a cluster is to release.
func releasing(ctx context.Context, cached client.Reader, cluster string) []reconcile.Request {
	list := &workv1.ManifestWorkList{}
	if err := cached.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The works of a cluster cannot be listed from the cache")
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if key, ok := index.HubApplication(&list.Items[i]); ok && work.Stays(&list.Items[i]) {
			keys = append(keys, key)
		}
	}
	return wake.Requests(keys)
}

// applicationsOfCluster are the Applications that ask for a cluster, and those that it has and that ask to go elsewhere now:
// it is waited for.
func (r *Reconciler) applicationsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfCluster(ctx, r.Client, obj.GetName())
	return wake.Requests(append(keys, index.ApplicationsOfWorks(ctx, r.Client, client.InNamespace(obj.GetName()))...))
}

// everything are all Applications.
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

// claimants are the other Applications with the target of one that came, went or changed its target.
func (r *Reconciler) claimants(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfTarget(ctx, r.Client, obj.(*argocd.Application))
	return wake.Requests(slices.DeleteFunc(keys, func(key types.NamespacedName) bool { return key == client.ObjectKeyFromObject(obj) }))
}

// WatchSets lets ApplicationSets pause their Applications, and decide about their end. It comes after SetupWithManager, and once the
// hub serves sets.Kinds: a hub may do without them, or get them later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	if err := r.Pauses.Watch(mgr, r.running, r.applicationsOfSet); err != nil {
		return err
	}
	w := endsOfSets(r.Client)
	return r.running.Watch(source.Kind(mgr.GetCache(), w.Object, w.Handler, w.Changed...))
}

// Sets are the watches of ApplicationSets as data, for a hub that has them.
func Sets(r *Reconciler) []wake.Watch {
	return []wake.Watch{r.Pauses.Sets(r.applicationsOfSet), endsOfSets(r.Client)}
}

// applicationsOfSet are the Applications of an ApplicationSet, and those that have works and are not for pull any more.
func (r *Reconciler) applicationsOfSet(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfSet(ctx, r.Client, client.ObjectKeyFromObject(obj))
	ofSet := client.MatchingLabels{apis.LabelApplicationSetHash: work.SetHash(client.ObjectKeyFromObject(obj))}
	return wake.Requests(append(keys, index.ApplicationsOfWorks(ctx, r.Client, ofSet)...))
}

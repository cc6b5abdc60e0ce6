package dependencies

import (
	"bytes"
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// SetupWithManager registers the controller. concurrency is the number of dependencies that are reconciled in parallel.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := index.AddDependencies(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	// The first events of Applications and works need Secrets, possibly before the watch of Secrets has begun.
	err := informer.OnEveryReplica(mgr.GetCache(),
		&corev1.Secret{}, &argocd.Application{}, &workv1.ManifestWork{}, &argocd.AppProject{}, &clusterv1.ManagedCluster{})
	if err != nil {
		return err
	}
	if r.trust, err = newTrust(mgr, r.Options.ArgoCDNamespace); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("dependencies").
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(r.ofApplication),
			builder.WithPredicates(r.refreshes.watched(), applicationChanged())).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(r.ofWork), builder.WithPredicates(workChanged())).
		Watches(&argocd.AppProject{}, handler.EnqueueRequestsFromMapFunc(r.ofProject), builder.WithPredicates(projectChanged())).
		Watches(&corev1.Secret{}, r.secretHandler()).
		WatchesRawSource(r.trust.watch(dependency.CertificatesConfigMap, r.ofTrust(dependency.Certificate))).
		WatchesRawSource(r.trust.watch(dependency.KeysConfigMap, r.ofKeys)).
		WatchesRawSource(r.trust.watch(dependency.HostKeysConfigMap, r.ofTrust(dependency.HostKeys))).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterChanged())).
		WatchesMetadata(settings.ClusterNamespace(), handler.EnqueueRequestsFromMapFunc(r.ofCluster),
			builder.WithPredicates(settings.ClusterFactsChanged()))
	if r.Options.Objects {
		if err := watchObjects(mgr, b); err != nil {
			return err
		}
	}
	r.running, err = loop.AddWatches(b, r.Tracking.Watches(r.everything)).WithOptions(loop.LeaderOptions(concurrency)).Build(r)
	return err
}

// WatchSets watches ApplicationSets, because an ApplicationSet can pause the dependencies of Applications; see
// propagation.Reconciler.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	return r.Pauses.Watch(mgr, r.running, func(ctx context.Context, set client.Object) []reconcile.Request {
		return r.ofApplications(ctx, index.BySet, client.ObjectKeyFromObject(set).String())
	})
}

// applicationChanged selects updates of the fields in use by decisions.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !dependency.SameApplication(e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application))
	}}
}

// workChanged selects the creation, the deletion and the edits of a work, and for a dependency the cluster's report.
func workChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !dependency.SameWork(e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork))
	}}
}

func projectChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.AppProject), e.ObjectNew.(*argocd.AppProject)
		return !bytes.Equal(before.Spec.Raw, after.Spec.Raw) ||
			!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations)
	}}
}

func clusterChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // each work of a new cluster queues dependencies
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster)
			const key = apis.AnnotationArgoCDNamespace
			return before.Annotations[key] != after.Annotations[key] ||
				before.Labels[apis.AnnotationSource] != after.Labels[apis.AnnotationSource] ||
				authorization.IsHub(before) != authorization.IsHub(after)
		},
	}
}

// ofApplication returns the works that an Application needs or has needed: none for most Applications.
func (r *Reconciler) ofApplication(ctx context.Context, obj client.Object) []reconcile.Request {
	app := obj.(*argocd.Application)
	keys, err := r.neededBy(ctx, app)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The repository Secrets cannot be listed from the cache")
	}
	needed := func(key types.NamespacedName) bool { return slices.Contains(keys, key) }
	if dependency.Alone(app, keys, r.Options.ClusterNamespace) && !slices.ContainsFunc(dependenciesOn(ctx, r.Client, app.Cluster()), needed) {
		return nil // a work outside the cache queues the dependency when the work arrives in the cache
	}
	return loop.Requests(keys)
}

// neededBy returns the works that an Application may need.
func (r *Reconciler) neededBy(ctx context.Context, app *argocd.Application) ([]types.NamespacedName, error) {
	if app.Cluster() == "" {
		return nil, nil
	}
	known, err := r.credentials(ctx)
	if err != nil {
		return nil, err
	}
	keys := dependency.Keys(work.Key(app), known, dependency.ReadSpec(app))
	if r.Options.Namespaces {
		return keys, nil
	}
	there, namespace := dependenciesOn(ctx, r.Client, app.Cluster()), dependency.NamespaceKey(app.Cluster(), app.ClusterNamespace())
	return slices.DeleteFunc(keys, func(key types.NamespacedName) bool { return key == namespace && !slices.Contains(there, key) }), nil
}

// ofWork returns the works to reconcile after a change of a work. For a dependency, the result is the work and the
// objects works of the users, because an objects work reports about all dependencies. For an Application's work, the
// result is the dependencies in use on the cluster, and the dependencies now needed by the Application.
func (r *Reconciler) ofWork(ctx context.Context, obj client.Object) []reconcile.Request {
	w, key := obj.(*workv1.ManifestWork), client.ObjectKeyFromObject(obj)
	kind, ours := dependency.KindOf(w.Name)
	if !ours {
		out := loop.Requests(r.usedBy(ctx, w))
		for _, app := range index.OfWork(ctx, r.Client, key) {
			out = append(out, r.ofApplication(ctx, app)...)
		}
		return out
	}
	keys := []types.NamespacedName{key}
	switch kind {
	case dependency.Project:
		keys = append(keys, objectsKeys(index.ApplicationsOfProjectWork(ctx, r.Client, key))...)
	case dependency.Credential, dependency.Certificate, dependency.HostKeys, dependency.Namespace:
		keys = append(keys, objectsKeys(index.Applications(ctx, r.Client, index.ByCluster, w.Namespace))...)
	case dependency.Objects:
	}
	return loop.Requests(keys)
}

// usedBy returns the dependencies on a cluster for an Application's work: all dependencies while the work carries a
// request.
func (r *Reconciler) usedBy(ctx context.Context, w *workv1.ManifestWork) []types.NamespacedName {
	there := dependenciesOn(ctx, r.Client, w.Namespace)
	if len(there) == 0 {
		return nil
	}
	known, err := r.credentials(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The repository Secrets cannot be listed from the cache")
		return there
	}
	uses, request := dependency.Uses(w, known)
	if request {
		return there
	}
	used := []types.NamespacedName{dependency.ObjectsKey(client.ObjectKeyFromObject(w))}
	for _, use := range uses {
		used = append(used, use.Dependencies...)
	}
	return slices.DeleteFunc(there, func(key types.NamespacedName) bool { return !slices.Contains(used, key) })
}

// ofProject returns the works of an AppProject on all clusters with Applications of the project. The result includes
// the objects works of Applications, because an AppProject permits objects.
func (r *Reconciler) ofProject(ctx context.Context, obj client.Object) []reconcile.Request {
	apps := index.Applications(ctx, r.Client, index.ByProject, obj.GetName())
	project := obj.(*argocd.AppProject)
	told := dependency.LargeProject(project) || len(dependency.SignatureKeys(project)) > 0 // the objects works show a problem of the AppProject
	keys := objectsKeys(slices.DeleteFunc(slices.Clone(apps), func(app *argocd.Application) bool {
		return app.Annotations[apis.AnnotationWith] == "" && !told
	}))
	for _, app := range apps {
		key := dependency.ProjectKey(app.Cluster(), obj.GetName())
		if key.Namespace != "" && (obj.GetName() != argocd.DefaultProject || slices.Contains(dependenciesOn(ctx, r.Client, key.Namespace), key)) {
			keys = append(keys, key)
		}
	}
	return loop.Requests(keys)
}

// ofCluster returns all dependencies on a cluster, and the dependencies possibly needed by Applications of the cluster.
func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return append(loop.Requests(dependenciesOn(ctx, r.Client, obj.GetName())), r.ofApplications(ctx, index.ByCluster, obj.GetName())...)
}

// ofApplications returns the possibly needed works of all Applications with the given index value.
func (r *Reconciler) ofApplications(ctx context.Context, name, value string) []reconcile.Request {
	var out []reconcile.Request
	for _, app := range index.Applications(ctx, r.Client, name, value) {
		out = append(out, r.ofApplication(ctx, app)...)
	}
	return out
}

// everything returns all dependencies.
func (r *Reconciler) everything(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &workv1.ManifestWorkList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The works cannot be listed from the cache")
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if _, ours := dependency.KindOf(list.Items[i].Name); ours {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return loop.Requests(keys)
}

// dependenciesOn returns the works with dependencies on a cluster.
func dependenciesOn(ctx context.Context, from client.Reader, cluster string) []types.NamespacedName {
	return index.Works(ctx, from, index.ByDependencies, cluster)
}

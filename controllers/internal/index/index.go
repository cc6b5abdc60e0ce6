// Package index names the indexes of the shared cache and computes their keys. The controllers look objects up by an
// index instead of listing. controllers.Add registers the indexes.
package index

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// ByWork finds the Application that must have a given ManifestWork, or a given objects work. The key comes from the
	// Application alone, so a cluster cannot claim the Applications of a different cluster. The index is coarse.
	ByWork = "work"

	// ByCluster finds the Applications that name a given ManagedCluster.
	ByCluster = "cluster"

	// BySet finds the pull Applications of a given ApplicationSet, by the set's "<namespace>/<name>".
	BySet = "set"

	// ByProject finds the Applications that name a given AppProject.
	ByProject = "project"

	// ByTarget finds the Applications with a given namespace and name on a given cluster; see Target. The index is
	// coarse.
	ByTarget = "target"

	// ByPlacement finds the Applications that follow a given Placement in their own namespace. The key is the
	// Placement's "<namespace>/<name>".
	ByPlacement = "placement"

	// ByHubApplication finds the ManifestWorks whose annotations name a given hub Application. The cluster can change
	// the annotations. The index is therefore only good for finding candidates for removal from the cluster's own
	// namespace. The index is coarse.
	ByHubApplication = "hubApplication"

	// ByWatch finds the ManifestWorks that let the work agent watch a place; see work.Watches.
	ByWatch = "watch"
)

// Add registers the indexes with a cache.
func Add(ctx context.Context, indexer client.FieldIndexer) error {
	return add(ctx, indexer, []field{
		{&argocd.Application{}, ByWork, coarse(workOf)},
		{&argocd.Application{}, ByCluster, clusterOf},
		{&argocd.Application{}, BySet, setOf},
		{&argocd.Application{}, ByProject, projectOf},
		{&argocd.Application{}, ByTarget, coarse(targetOf)},
		{&argocd.Application{}, ByPlacement, placementOf},
		{&workv1.ManifestWork{}, ByHubApplication, coarse(hubApplicationOf)},
		{&workv1.ManifestWork{}, ByWatch, watchOf},
	})
}

// field is an index for a type of objects.
type field struct {
	object client.Object
	name   string
	values client.IndexerFunc
}

func add(ctx context.Context, indexer client.FieldIndexer, fields []field) error {
	for _, f := range fields {
		if err := indexer.IndexField(ctx, f.object, f.name, f.values); err != nil {
			return err
		}
	}
	return nil
}

// workOf returns the key of the objects work for the Application's work. The index finds the Application by the work
// and by the objects work.
func workOf(obj client.Object) []string {
	key := work.Key(obj.(*argocd.Application))
	if key.Namespace == "" {
		return nil
	}
	return []string{dependency.ObjectsKey(key).String()}
}

func clusterOf(obj client.Object) []string {
	if cluster := obj.(*argocd.Application).Cluster(); cluster != "" {
		return []string{cluster}
	}
	return nil
}

func projectOf(obj client.Object) []string {
	return []string{obj.(*argocd.Application).Project()}
}

func placementOf(obj client.Object) []string {
	if name := obj.(*argocd.Application).Placement(); name != "" {
		return []string{obj.GetNamespace() + "/" + name}
	}
	return nil
}

// Followers returns the Applications of a namespace that follow the named Placement.
func Followers(ctx context.Context, c client.Reader, namespace, placement string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByPlacement, namespace+"/"+placement))
}

func setOf(obj client.Object) []string {
	if set, ok := SetOf(obj.(*argocd.Application)); ok {
		return []string{set.String()}
	}
	return nil
}

// SetOf returns the ApplicationSet of an Application. The second result is true if the Application has an
// ApplicationSet and is selected for pull.
func SetOf(app *argocd.Application) (types.NamespacedName, bool) {
	name, ok := app.ApplicationSet()
	if !ok || !app.Pulled() {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: app.Namespace, Name: name}, true
}

func hubApplicationOf(obj client.Object) []string {
	if key, ok := HubApplication(obj); ok {
		return []string{key.String()}
	}
	return nil
}

func watchOf(obj client.Object) []string {
	if place := work.Watches(obj.(*workv1.ManifestWork)); place != "" {
		return []string{place}
	}
	return nil
}

// WorksWatching returns the ManifestWorks that let the work agent watch a place; see work.WatchPlace. The works are
// shared with the cache: the caller must not change the works.
func WorksWatching(ctx context.Context, c client.Reader, place string) []*workv1.ManifestWork {
	found, err := works(ctx, c, ByWatch, place)
	Must(ctx, err)
	return found
}

// Target returns the place of an Application on its cluster: "<cluster>/<namespace>/<name>". The result is empty if the
// Application names no cluster.
func Target(app *argocd.Application) string {
	if app.Cluster() == "" {
		return ""
	}
	return app.Cluster() + "/" + app.ClusterNamespace() + "/" + app.Name
}

func targetOf(obj client.Object) []string {
	if target := Target(obj.(*argocd.Application)); target != "" {
		return []string{target}
	}
	return nil
}

// ApplicationsOfTarget returns the Applications with the same target as app, app included.
func ApplicationsOfTarget(ctx context.Context, c client.Reader, app *argocd.Application) []types.NamespacedName {
	target := Target(app)
	if d, ok := c.(*Direct); ok {
		return keysOf(only(d.applications(ctx, app.Name), func(other *argocd.Application) bool { return Target(other) == target }))
	}
	return keysOf(inBucket(ctx, c, ByTarget, target, func(other *argocd.Application) bool { return Target(other) == target }))
}

// HubApplication returns the hub Application named by a ManifestWork's annotations, and false if the annotations name
// none. See ByHubApplication for the permitted use.
func HubApplication(obj client.Object) (types.NamespacedName, bool) { return work.HubApplication(obj) }

// ApplicationsOfWork returns the hub Applications that must have the given work.
func ApplicationsOfWork(ctx context.Context, c client.Reader, key types.NamespacedName) []types.NamespacedName {
	return keysOf(OfWork(ctx, c, key))
}

// OfWork returns the Applications of ApplicationsOfWork as objects. The Applications are shared with the cache: the
// caller must not change the Applications.
func OfWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	wanted := func(app *argocd.Application) bool { return app.Cluster() == key.Namespace && work.Key(app) == key }
	if d, ok := c.(*Direct); ok {
		return only(d.owners(ctx, key.Name), wanted)
	}
	return inBucket(ctx, c, ByWork, dependency.ObjectsKey(key).String(), wanted)
}

// WorksNaming returns the wanted ManifestWorks whose annotations name the hub Application. wanted gets the works of the
// cache and must not change the works. See ByHubApplication for the permitted use.
func WorksNaming(
	ctx context.Context, c client.Reader, app types.NamespacedName, wanted func(*workv1.ManifestWork) bool,
) ([]workv1.ManifestWork, error) {
	name, value := ByHubApplication, bucket(app.String())
	if d, ok := c.(*Direct); ok {
		name, value = "metadata.name", d.Work
	}
	found, err := works(ctx, c, name, value)
	var out []workv1.ManifestWork
	for _, w := range found {
		if named, ok := HubApplication(w); ok && named == app && wanted(w) {
			out = append(out, *w.DeepCopy())
		}
	}
	return out, err
}

// ApplicationsOfCluster returns the Applications that name the ManagedCluster.
func ApplicationsOfCluster(ctx context.Context, c client.Reader, cluster string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByCluster, cluster))
}

// ApplicationsOfProject returns the Applications that name the AppProject.
func ApplicationsOfProject(ctx context.Context, c client.Reader, project string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByProject, project))
}

// AllApplications returns all Applications of the hub in the cache.
func AllApplications(ctx context.Context, c client.Reader) []types.NamespacedName {
	return lookUp(ctx, c)
}

// ApplicationsOfNamespace returns the Applications of a namespace of the hub.
func ApplicationsOfNamespace(ctx context.Context, c client.Reader, namespace string) []types.NamespacedName {
	return lookUp(ctx, c, client.InNamespace(namespace))
}

// ApplicationsOfNamespaceAndCluster returns the Applications of a hub namespace that name the ManagedCluster.
func ApplicationsOfNamespaceAndCluster(ctx context.Context, c client.Reader, namespace, cluster string) []types.NamespacedName {
	return keysOf(only(Applications(ctx, c, ByCluster, cluster), func(app *argocd.Application) bool { return app.Namespace == namespace }))
}

// ApplicationsOfSet returns the pull Applications of the ApplicationSet.
func ApplicationsOfSet(ctx context.Context, c client.Reader, set types.NamespacedName) []types.NamespacedName {
	return keysOf(Applications(ctx, c, BySet, set.String()))
}

// ApplicationsOfWorks returns the hub Applications named by the annotations of the matching works. See ByHubApplication
// for the permitted use.
func ApplicationsOfWorks(ctx context.Context, c client.Reader, match ...client.ListOption) []types.NamespacedName {
	list := &workv1.ManifestWorkList{}
	Must(ctx, c.List(ctx, list, append(match, client.UnsafeDisableDeepCopy)...))
	var keys []types.NamespacedName
	for i := range list.Items {
		if key, ok := HubApplication(&list.Items[i]); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// Must panics with the error of a look-up in the cache. A look-up can fail only if the index was never registered or
// the cache was not started. Both are mistakes in the program, and no caller can correct them. Must does not panic if
// ctx was cancelled: the process ends, and the look-up waited for the cache until then. The caller then gets an empty
// result. The empty result is harmless, because no controller acts any more. A panic would keep the process from giving
// up its Lease.
func Must(ctx context.Context, err error) {
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		panic(err)
	}
}

// lookUp returns the keys of the Applications found by list.
func lookUp(ctx context.Context, c client.Reader, match ...client.ListOption) []types.NamespacedName {
	return keysOf(list(ctx, c, match...))
}

// Applications returns the Applications that an index of the cache has for a value. The Applications are shared with
// the cache: the caller must not change the Applications.
func Applications(ctx context.Context, c client.Reader, name, value string) []*argocd.Application {
	cached, ok := c.(*Client)
	if !ok {
		return list(ctx, c, client.MatchingFields{name: value})
	}
	apps, err := indexed(ctx, cached, &argocd.Application{}, name, value)
	Must(ctx, err)
	return apps
}

// works returns the ManifestWorks that an index of the cache has for a value. The works are shared with the cache: the
// caller must not change the works.
func works(ctx context.Context, c client.Reader, name, value string) ([]*workv1.ManifestWork, error) {
	if cached, ok := c.(*Client); ok {
		return indexed(ctx, cached, &workv1.ManifestWork{}, name, value)
	}
	list := &workv1.ManifestWorkList{}
	err := c.List(ctx, list, client.MatchingFields{name: value}, client.UnsafeDisableDeepCopy)
	return pointers(list.Items), err
}

// list returns the matching Applications with a List request to c. The Applications are shared with the cache: the
// caller must not change the Applications.
func list(ctx context.Context, c client.Reader, match ...client.ListOption) []*argocd.Application {
	apps := &argocd.ApplicationList{}
	Must(ctx, c.List(ctx, apps, append(match, client.UnsafeDisableDeepCopy)...))
	return pointers(apps.Items)
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func keysOf[T client.Object](found []T) []types.NamespacedName {
	keys := make([]types.NamespacedName, len(found))
	for i, obj := range found {
		keys[i] = client.ObjectKeyFromObject(obj)
	}
	return keys
}

// Package index names the indexes of the shared cache and computes their keys. The controllers look things up by
// them instead of listing; controllers.Add registers them.
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
	// ByWork finds the Application that must have a given ManifestWork, or a given objects work. It is computed from
	// the Application alone, so a cluster cannot speak for another's Applications. It is coarse.
	ByWork = "work"

	// ByCluster finds the Applications that name a given ManagedCluster.
	ByCluster = "cluster"

	// BySet finds the Applications for pull of a given ApplicationSet, by its "<namespace>/<name>".
	BySet = "set"

	// ByProject finds the Applications that name a given AppProject.
	ByProject = "project"

	// ByTarget finds the Applications that are to have a given namespace and name on a given cluster; see Target. It is
	// coarse.
	ByTarget = "target"

	// ByPlacement finds the Applications that follow a given Placement, by its "<namespace>/<name>": that of their own
	// namespace.
	ByPlacement = "placement"

	// ByHubApplication finds the ManifestWorks whose annotations name a given hub Application. The annotations are the
	// cluster's to change: good for finding candidates for removal from that cluster's own namespace, and for nothing
	// else. It is coarse.
	ByHubApplication = "hubApplication"
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
	})
}

// field is an index of one type of objects.
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

// workOf is the Application's work by the name of the objects work that belongs to it: one index finds by both.
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

// Followers are the Applications of a namespace that follow the Placement of that name.
func Followers(ctx context.Context, c client.Reader, namespace, placement string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByPlacement, namespace+"/"+placement))
}

func setOf(obj client.Object) []string {
	if set, ok := SetOf(obj.(*argocd.Application)); ok {
		return []string{set.String()}
	}
	return nil
}

// SetOf is the ApplicationSet of an Application, and whether it has one and is selected for pull.
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

// Target is where an Application is to be: "<cluster>/<namespace>/<name>"; empty when it names no cluster.
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

// ApplicationsOfTarget are the Applications with the same target as this one, itself included.
func ApplicationsOfTarget(ctx context.Context, c client.Reader, app *argocd.Application) []types.NamespacedName {
	target := Target(app)
	if d, ok := c.(*Direct); ok {
		return keysOf(only(d.applications(ctx, app.Name), func(other *argocd.Application) bool { return Target(other) == target }))
	}
	return keysOf(inBucket(ctx, c, ByTarget, target, func(other *argocd.Application) bool { return Target(other) == target }))
}

// HubApplication is the hub Application that a ManifestWork's annotations name, and whether they name one. See
// ByHubApplication for what it may be used for.
func HubApplication(obj client.Object) (types.NamespacedName, bool) { return work.HubApplication(obj) }

// ApplicationsOfWork are the Applications that must have the work of that key, as the hub has it.
func ApplicationsOfWork(ctx context.Context, c client.Reader, key types.NamespacedName) []types.NamespacedName {
	return keysOf(OfWork(ctx, c, key))
}

// OfWork are the same Applications themselves. They are the cache's own: not to be changed.
func OfWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	wanted := func(app *argocd.Application) bool { return app.Cluster() == key.Namespace && work.Key(app) == key }
	if d, ok := c.(*Direct); ok {
		return only(d.owners(ctx, key.Name), wanted)
	}
	return inBucket(ctx, c, ByWork, dependency.ObjectsKey(key).String(), wanted)
}

// WorksNaming are the ManifestWorks whose annotations name the hub Application, of those that are wanted, which is asked of
// the cache's own. See ByHubApplication for what that may be used for.
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

// ApplicationsOfCluster are the Applications that name the ManagedCluster.
func ApplicationsOfCluster(ctx context.Context, c client.Reader, cluster string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByCluster, cluster))
}

// ApplicationsOfProject are the Applications that name the AppProject.
func ApplicationsOfProject(ctx context.Context, c client.Reader, project string) []types.NamespacedName {
	return keysOf(Applications(ctx, c, ByProject, project))
}

// AllApplications are those of the whole hub that the cache holds.
func AllApplications(ctx context.Context, c client.Reader) []types.NamespacedName {
	return lookUp(ctx, c)
}

// ApplicationsOfNamespace are the Applications of a namespace of the hub.
func ApplicationsOfNamespace(ctx context.Context, c client.Reader, namespace string) []types.NamespacedName {
	return lookUp(ctx, c, client.InNamespace(namespace))
}

// ApplicationsOfNamespaceAndCluster are those of a namespace of the hub that name the ManagedCluster.
func ApplicationsOfNamespaceAndCluster(ctx context.Context, c client.Reader, namespace, cluster string) []types.NamespacedName {
	return keysOf(only(Applications(ctx, c, ByCluster, cluster), func(app *argocd.Application) bool { return app.Namespace == namespace }))
}

// ApplicationsOfSet are the Applications for pull of the ApplicationSet.
func ApplicationsOfSet(ctx context.Context, c client.Reader, set types.NamespacedName) []types.NamespacedName {
	return keysOf(Applications(ctx, c, BySet, set.String()))
}

// ApplicationsOfWorks are the hub Applications that the annotations of some works name. See ByHubApplication for what
// they may be used for.
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

// Must panics with an error of a look-up in the cache. It can fail only when the index was never registered, or the cache was not started:
// a mistake in the program that no caller could do anything about. But where ctx was cancelled the process ends, and the look-up had to wait
// for the cache until then. Then the caller gets nothing, which does no harm: nobody acts on it any more. A panic would keep the process from
// giving up its Lease.
func Must(ctx context.Context, err error) {
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		panic(err)
	}
}

// lookUp are the keys of what list finds.
func lookUp(ctx context.Context, c client.Reader, match ...client.ListOption) []types.NamespacedName {
	return keysOf(list(ctx, c, match...))
}

// Applications are those that an index of the cache finds for a value. They are the cache's own: not to be changed.
func Applications(ctx context.Context, c client.Reader, name, value string) []*argocd.Application {
	cached, ok := c.(*Client)
	if !ok {
		return list(ctx, c, client.MatchingFields{name: value})
	}
	apps, err := indexed(ctx, cached, &argocd.Application{}, name, value)
	Must(ctx, err)
	return apps
}

// works are the ManifestWorks that an index of the cache has for a value. They are the cache's own: not to be changed.
func works(ctx context.Context, c client.Reader, name, value string) ([]*workv1.ManifestWork, error) {
	if cached, ok := c.(*Client); ok {
		return indexed(ctx, cached, &workv1.ManifestWork{}, name, value)
	}
	list := &workv1.ManifestWorkList{}
	err := c.List(ctx, list, client.MatchingFields{name: value}, client.UnsafeDisableDeepCopy)
	return pointers(list.Items), err
}

// list is what lookUp finds, and Applications without a Client. The Applications are the cache's own: not to be changed.
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

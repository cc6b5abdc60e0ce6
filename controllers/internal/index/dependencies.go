package index

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// ByObjects finds the ManifestWork that a given objects work would belong to. It is coarse.
	ByObjects = "objects"

	// ByRepository finds the Applications with a source at a given normalized address, and those with one on a given
	// host of repositories.
	ByRepository = "repository"

	// ByObject finds the Applications that name a given Secret or ConfigMap to travel beside them, by
	// "<namespace>/secret/<name>" or "<namespace>/configmap/<name>".
	ByObject = "object"

	// ByCredential finds the ManifestWorks that carry the credential of a given hub Secret, by the name that the work has
	// on every cluster.
	ByCredential = "credential"

	// ByDependencies finds the ManifestWorks on a given cluster that carry what travels beside Applications.
	ByDependencies = "dependencies"
)

// AddDependencies registers the indexes that only the dependencies controller uses.
func AddDependencies(ctx context.Context, indexer client.FieldIndexer) error {
	return add(ctx, indexer, []field{
		{&argocd.Application{}, ByRepository, repositoriesOf},
		{&workv1.ManifestWork{}, ByObjects, coarse(objectsOf)},
		{&workv1.ManifestWork{}, ByCredential, credentialOf},
		{&workv1.ManifestWork{}, ByDependencies, dependenciesOf},
	})
}

func repositoriesOf(obj client.Object) []string {
	var out []string
	for _, repo := range dependency.ReadSpec(obj.(*argocd.Application)).Repositories {
		out = append(out, repo)
		if host := dependency.Host(repo); host != repo {
			out = append(out, host)
		}
	}
	return out
}

// objectsOf is the dependency work that would belong to an Application's work.
func objectsOf(obj client.Object) []string {
	if _, ok := dependency.KindOf(obj.GetName()); ok {
		return nil
	}
	return []string{dependency.ObjectsKey(client.ObjectKeyFromObject(obj)).String()}
}

func credentialOf(obj client.Object) []string {
	if kind, ok := dependency.KindOf(obj.GetName()); !ok || kind != dependency.Credential {
		return nil
	}
	return []string{obj.GetName()}
}

func dependenciesOf(obj client.Object) []string {
	if _, ok := dependency.KindOf(obj.GetName()); !ok {
		return nil
	}
	return []string{obj.GetNamespace()}
}

// ApplicationsOfProjectWork are the Applications that may need a given work with an AppProject, by what they say
// themselves. They are the cache's own: not to be changed.
func ApplicationsOfProjectWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	return slices.DeleteFunc(Applications(ctx, c, ByCluster, key.Namespace), func(app *argocd.Application) bool {
		return dependency.ProjectKey(key.Namespace, dependency.ReadSpec(app).Project) != key
	})
}

// ApplicationsOfObjectsWork are the Applications that may need a given work with objects, by what they say themselves.
// They are the cache's own: not to be changed.
func ApplicationsOfObjectsWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	return inBucket(ctx, c, ByWork, key.String(), func(app *argocd.Application) bool {
		return app.Cluster() == key.Namespace && dependency.ObjectsKey(work.Key(app)) == key
	})
}

// WorksBesideObjects are the ManifestWorks that a given objects work would belong to.
func WorksBesideObjects(ctx context.Context, c client.Reader, key types.NamespacedName) []types.NamespacedName {
	return slices.DeleteFunc(Works(ctx, c, ByObjects, bucket(key.String())), func(w types.NamespacedName) bool {
		return dependency.ObjectsKey(w) != key
	})
}

// Works are the keys of the ManifestWorks that an index of the cache finds for a value.
func Works(ctx context.Context, c client.Reader, name, value string) []types.NamespacedName {
	found, err := works(ctx, c, name, value)
	Must(ctx, err)
	return keysOf(found)
}

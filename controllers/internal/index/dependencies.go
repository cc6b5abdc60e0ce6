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
	// ByObjects finds the ManifestWork to which a given objects work would belong. The index is coarse.
	ByObjects = "objects"

	// ByRepository finds the Applications with a source at a given normalized address, or with a source on a given host
	// of repositories.
	ByRepository = "repository"

	// ByObject finds the Applications that name a given Secret or ConfigMap for delivery beside them. The key is
	// "<namespace>/secret/<name>" or "<namespace>/configmap/<name>".
	ByObject = "object"

	// ByCredential finds the ManifestWorks that carry the credential of a given hub Secret. The key is the work's name,
	// equal on every cluster.
	ByCredential = "credential"

	// ByDependencies finds the ManifestWorks on a given cluster that carry dependencies of Applications.
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

// objectsOf returns the key of the objects work for an Application's work.
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

// ApplicationsOfProjectWork returns the Applications that may need a given work with an AppProject, judged by the
// Applications' own specs. The Applications are shared with the cache: the caller must not change the Applications.
func ApplicationsOfProjectWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	return slices.DeleteFunc(Applications(ctx, c, ByCluster, key.Namespace), func(app *argocd.Application) bool {
		return dependency.ProjectKey(key.Namespace, dependency.ReadSpec(app).Project) != key
	})
}

// ApplicationsOfObjectsWork returns the Applications that may need a given work with objects, judged by the
// Applications' own specs. The Applications are shared with the cache: the caller must not change the Applications.
func ApplicationsOfObjectsWork(ctx context.Context, c client.Reader, key types.NamespacedName) []*argocd.Application {
	return inBucket(ctx, c, ByWork, key.String(), func(app *argocd.Application) bool {
		return app.Cluster() == key.Namespace && dependency.ObjectsKey(work.Key(app)) == key
	})
}

// WorksBesideObjects returns the ManifestWorks to which a given objects work would belong.
func WorksBesideObjects(ctx context.Context, c client.Reader, key types.NamespacedName) []types.NamespacedName {
	return slices.DeleteFunc(Works(ctx, c, ByObjects, bucket(key.String())), func(w types.NamespacedName) bool {
		return dependency.ObjectsKey(w) != key
	})
}

// Works returns the keys of the ManifestWorks that an index of the cache has for a value.
func Works(ctx context.Context, c client.Reader, name, value string) []types.NamespacedName {
	found, err := works(ctx, c, name, value)
	Must(ctx, err)
	return keysOf(found)
}

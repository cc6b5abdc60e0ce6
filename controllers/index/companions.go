package index

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/companion"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// ByCompanion finds the Applications that may need a given companion work, by "<namespace>/<name>" of the work: that
	// of their AppProject and that of the objects they name, computed from the Application alone. ManifestWorks have it
	// for the objects work that would belong to them.
	ByCompanion = "companion"

	// ByRepository finds the Applications with a source at a given normalized address, and those with one on a given
	// host of repositories.
	ByRepository = "repository"

	// ByObject finds the Applications that name a given Secret or ConfigMap to travel beside them, by
	// "<namespace>/secret/<name>" or "<namespace>/configmap/<name>".
	ByObject = "object"

	// ByCredential finds the ManifestWorks that carry the credential of a given hub Secret, by the name that the work has
	// on every cluster.
	ByCredential = "credential"
)

// AddCompanions registers the indexes that only the companions controller uses.
func AddCompanions(ctx context.Context, indexer client.FieldIndexer) error {
	app, w := &argocd.Application{}, &workv1.ManifestWork{}
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{app, ByCompanion, companionsOf},
		{app, ByRepository, repositoriesOf},
		{w, ByCompanion, objectsOf},
		{w, ByCredential, credentialOf},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.values); err != nil {
			return err
		}
	}
	return nil
}

func companionsOf(obj client.Object) []string {
	app := obj.(*argocd.Application)
	if app.Cluster() == "" {
		return nil
	}
	return []string{
		companion.ProjectKey(app.Cluster(), companion.ReadSpec(app).Project).String(),
		companion.ObjectsKey(work.Key(app)).String(),
	}
}

func repositoriesOf(obj client.Object) []string {
	var out []string
	for _, repo := range companion.ReadSpec(obj.(*argocd.Application)).Repositories {
		out = append(out, repo)
		if host := companion.Host(repo); host != repo {
			out = append(out, host)
		}
	}
	return out
}

// objectsOf is the companion work that would belong to an Application's work.
func objectsOf(obj client.Object) []string {
	if _, ok := companion.KindOf(obj.GetName()); ok {
		return nil
	}
	return []string{companion.ObjectsKey(client.ObjectKeyFromObject(obj)).String()}
}

func credentialOf(obj client.Object) []string {
	if kind, ok := companion.KindOf(obj.GetName()); !ok || kind != companion.Credential {
		return nil
	}
	return []string{obj.GetName()}
}

// Applications are those that an index of the cache finds for a value. They are the cache's own: not to be changed.
func Applications(ctx context.Context, c client.Reader, name, value string) []argocd.Application {
	apps := &argocd.ApplicationList{}
	if err := c.List(ctx, apps, client.MatchingFields{name: value}, client.UnsafeDisableDeepCopy); err != nil {
		panic(err) // the index was never registered: a mistake in the program
	}
	return apps.Items
}

// Works are the keys of the ManifestWorks that an index of the cache finds for a value.
func Works(ctx context.Context, c client.Reader, name, value string) []types.NamespacedName {
	list := &workv1.ManifestWorkList{}
	if err := c.List(ctx, list, client.MatchingFields{name: value}, client.UnsafeDisableDeepCopy); err != nil {
		panic(err) // as above
	}
	keys := make([]types.NamespacedName, len(list.Items))
	for i := range list.Items {
		keys[i] = client.ObjectKeyFromObject(&list.Items[i])
	}
	return keys
}

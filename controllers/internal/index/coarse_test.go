package index

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// cached returns an indexer with an index as the informers have.
func cached(t *testing.T, index string, values client.IndexerFunc, objects ...client.Object) cache.Indexer {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{index: func(obj any) ([]string, error) {
		return values(obj.(client.Object)), nil
	}})
	for _, o := range objects {
		if err := indexer.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return indexer
}

// TestCoarse: an Application is in the bucket of its work, of its objects work and of its target, and many Applications
// share few buckets.
func TestCoarse(t *testing.T) {
	var apps []client.Object
	for i := range 5 * buckets {
		apps = append(apps, fixture.Application(fmt.Sprintf("app%05d", i)).UID(types.UID(fmt.Sprintf("%05d", i))).Obj())
	}
	byWork, byTarget := cached(t, ByWork, coarse(workOf), apps...), cached(t, ByTarget, coarse(targetOf), apps...)
	if n := len(byWork.ListIndexFuncValues(ByWork)); n > buckets {
		t.Errorf("%d entries", n)
	}
	for i := 0; i < len(apps); i += 1000 {
		app := apps[i].(*argocd.Application)
		objects := dependency.ObjectsKey(work.Key(app))
		found, err := byWork.ByIndex(ByWork, bucket(objects.String()))
		if err != nil || !slices.Contains(found, any(app)) {
			t.Errorf("%s is not found by its work: %v", app.Name, err)
		}
		found, err = byTarget.ByIndex(ByTarget, bucket(Target(app)))
		if err != nil || !slices.Contains(found, any(app)) {
			t.Errorf("%s is not found by its target: %v", app.Name, err)
		}
	}
}

// TestNoBucket: an object without an index value is in no bucket.
func TestNoBucket(t *testing.T) {
	for title, got := range map[string][]string{
		"an Application without a cluster": coarse(workOf)(&argocd.Application{}),
		"its target":                       coarse(targetOf)(&argocd.Application{}),
		"a work without annotations":       coarse(hubApplicationOf)(&workv1.ManifestWork{}),
	} {
		if len(got) > 0 {
			t.Errorf("%s: %v", title, got)
		}
	}
}

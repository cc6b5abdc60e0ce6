package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// filled is a cache with filled informers, or with informers that were not started.
type filled struct {
	ctrlcache.Cache
	apps, works cache.SharedIndexInformer
	notStarted  bool
	filling     bool // GetInformer blocks until the context ends
}

// fakeInformer is an informer of filled.
type fakeInformer struct {
	cache.SharedIndexInformer
	synced bool
}

// HasSynced implements cache.SharedInformer.
func (i fakeInformer) HasSynced() bool { return i.synced }

// GetInformer implements cache.Informers.
func (f *filled) GetInformer(ctx context.Context, obj client.Object, _ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if f.filling {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, ok := obj.(*workv1.ManifestWork); ok {
		return fakeInformer{f.works, !f.notStarted}, nil
	}
	return fakeInformer{f.apps, !f.notStarted}, nil
}

// byAll adds an index in the form of controller-runtime's cache.
func byAll(t testing.TB, of cache.SharedIndexInformer, name string, values client.IndexerFunc) {
	t.Helper()
	err := of.AddIndexers(cache.Indexers{informer.FieldIndex + name: func(obj any) (out []string, err error) {
		for _, value := range values(obj.(client.Object)) {
			out = append(out, informer.AllNamespaces+value)
		}
		return out, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// newFilled returns a cache with two Applications of the same name on two clusters, and the work of the first
// Application.
func newFilled(t *testing.T) (f *filled, app *argocd.Application, w *workv1.ManifestWork) {
	t.Helper()
	f = &filled{
		apps:  informer.New(&cache.ListWatch{}, &argocd.Application{}, 0, cache.Indexers{}),
		works: informer.New(&cache.ListWatch{}, &workv1.ManifestWork{}, 0, cache.Indexers{}),
	}
	byAll(t, f.apps, ByWork, coarse(workOf))
	byAll(t, f.apps, ByCluster, clusterOf)
	byAll(t, f.works, ByHubApplication, coarse(hubApplicationOf))
	app = fixture.Application("shop").UID("1").Cluster("east").Obj()
	other := fixture.Application("shop").UID("2").Namespace("other").Cluster("west").Obj()
	w = &workv1.ManifestWork{}
	key := work.Key(app)
	w.Namespace, w.Name = key.Namespace, key.Name
	w.Annotations = map[string]string{apis.AnnotationHubNamespace: app.Namespace, apis.AnnotationHubName: app.Name}
	for obj, in := range map[client.Object]cache.SharedIndexInformer{app: f.apps, other: f.apps, w: f.works} {
		if err := in.GetIndexer().Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	return f, app, w
}

// TestClientFinds: a look-up by an index returns the cached objects, without a list request.
func TestClientFinds(t *testing.T) {
	f, app, w := newFilled(t)
	c, err := NewClient(&rest.Config{}, client.Options{Scheme: runtime.NewScheme(), Cache: &client.CacheOptions{Reader: f}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if found := OfWork(ctx, c, work.Key(app)); len(found) != 1 || found[0] != app {
		t.Errorf("of the work: %v", found)
	}
	if keys := ApplicationsOfCluster(ctx, c, "west"); len(keys) != 1 || keys[0].Namespace != "other" {
		t.Errorf("of the cluster: %v", keys)
	}
	all := func(*workv1.ManifestWork) bool { return true }
	found, err := WorksNaming(ctx, c, client.ObjectKeyFromObject(app), all)
	if err != nil || len(found) != 1 || found[0].Name != w.Name {
		t.Errorf("works: %v, %v", found, err)
	}
}

// TestClientNotStarted: a look-up in a cache that was not started is an error, and not an empty result.
func TestClientNotStarted(t *testing.T) {
	f, _, _ := newFilled(t)
	f.notStarted = true
	notStarted := &ctrlcache.ErrCacheNotStarted{}
	if found, err := indexed(t.Context(), &Client{informers: f}, &argocd.Application{}, ByCluster, "east"); !errors.As(err, &notStarted) {
		t.Errorf("%v, %v", found, err)
	}
}

// TestClientsAreNotHidden: no code passes a reconciler to package index. A reconciler embeds its client, so a look-up
// with the reconciler would list instead of using the index.
func TestClientsAreNotHidden(t *testing.T) {
	hidden := regexp.MustCompile(`index\.[A-Z]\w*\(\w+, [rc][,)]`)
	looked := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		looked++
		text, err := os.ReadFile(path)
		if found := hidden.Find(text); found != nil {
			t.Errorf("%s: %s…: name the client of it, such as r.Client", path, found)
		}
		return err
	})
	if err != nil || looked < 50 {
		t.Errorf("%d files: %v", looked, err)
	}
}

// TestClientWithoutCache: a client without a cache lists from the API server.
func TestClientWithoutCache(t *testing.T) {
	c, err := NewClient(&rest.Config{}, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.(*Client); ok {
		t.Error("it looks things up in a cache that it does not have")
	}
}

// BenchmarkOfWork finds the Application of a work among 100,000 Applications.
func BenchmarkOfWork(b *testing.B) {
	f := &filled{apps: informer.New(&cache.ListWatch{}, &argocd.Application{}, 0, cache.Indexers{})}
	byAll(b, f.apps, ByWork, coarse(workOf))
	const n = 100_000
	keys := make([]types.NamespacedName, n)
	for i := range n {
		app := fixture.Application(fmt.Sprintf("app%06d", i)).UID(types.UID(strconv.Itoa(i))).Cluster(fmt.Sprintf("cluster%03d", i%200)).Obj()
		if err := f.apps.GetIndexer().Add(app); err != nil {
			b.Fatal(err)
		}
		keys[i] = work.Key(app)
	}
	c := &Client{informers: f}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if found := OfWork(b.Context(), c, keys[i%n]); len(found) != 1 {
			b.Fatalf("%d Applications of %s", len(found), keys[i%n])
		}
	}
}

// TestLookUpAsTheProcessEnds: a look-up that waits for the cache finds nothing when the process ends.
func TestLookUpAsTheProcessEnds(t *testing.T) {
	f, _, _ := newFilled(t)
	f.filling = true
	c := &Client{informers: f}
	ctx, end := context.WithCancel(t.Context())
	end()
	if found := ApplicationsOfCluster(ctx, c, "east"); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if found := Works(ctx, c, ByDependencies, "east"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestMust: a mistake in the program panics. An exceeded deadline panics too: the process goes on, and must not treat
// unread objects as deleted. A cancelled context does not panic.
func TestMust(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	mistake := errors.New("no such index")
	for title, tc := range map[string]struct {
		looks  func()
		panics bool
	}{
		"no error":             {func() { Must(t.Context(), nil) }, false},
		"a mistake":            {func() { Must(t.Context(), mistake) }, true},
		"after a deadline":     {func() { Must(late, late.Err()) }, true},
		"as the process ends":  {func() { Must(cancelled, cancelled.Err()) }, false},
		"no error, as it ends": {func() { Must(cancelled, nil) }, false},
	} {
		t.Run(title, func(t *testing.T) {
			defer func() {
				if got := recover() != nil; got != tc.panics {
					t.Errorf("panics: %t", got)
				}
			}()
			tc.looks()
		})
	}
}

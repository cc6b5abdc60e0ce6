package informer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// TestNew: indexes of Applications and works have only the entry for all namespaces. All other indexes have
// both entries.
func TestNew(t *testing.T) {
	both := func(any) ([]string, error) { return []string{"ns/key", AllNamespaces + "key"}, nil }
	one, two := []string{AllNamespaces + "key"}, []string{"ns/key", AllNamespaces + "key"}
	for title, tc := range map[string]struct {
		obj   runtime.Object
		index string
		want  []string
	}{
		"of Applications":             {&argocd.Application{}, FieldIndex + "work", one},
		"of works":                    {&workv1.ManifestWork{}, FieldIndex + "hubApplication", one},
		"of something else":           {&argocd.AppProject{}, FieldIndex + "work", two},
		"an index of client-go's own": {&argocd.Application{}, cache.NamespaceIndex, two},
	} {
		t.Run(title, func(t *testing.T) {
			informer := New(&cache.ListWatch{}, tc.obj, 0, cache.Indexers{})
			if err := informer.AddIndexers(cache.Indexers{tc.index: both}); err != nil {
				t.Fatal(err)
			}
			got, err := informer.GetIndexer().GetIndexers()[tc.index](nil)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// TestWorksAreAwaited: an informer of works asks every second while no server serves works.
func TestWorksAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const away = time.Minute
		began, asked, server := time.Now(), 0, &older{works: 1}
		informer := New(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				if asked++; time.Since(began) < away {
					return nil, apierrors.NewServiceUnavailable("nobody leads")
				}
				return server.ListWithContext(ctx, o)
			},
			WatchFuncWithContext: server.WatchWithContext,
		}, &workv1.ManifestWork{}, 0, cache.Indexers{})
		ctx, stop := context.WithTimeout(t.Context(), 2*away)
		var running sync.WaitGroup
		running.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) || time.Since(began) > away+2*time.Second || asked < int(away.Seconds()) {
			t.Errorf("filled after %s, by %d requests", time.Since(began), asked)
		}
		stop()
		running.Wait()
	})
}

// older is an API server that does not stream lists (before Kubernetes 1.34), with works full of cluster reports.
type older struct {
	works int

	// full is the number of works read and not yet reduced. most is the highest value of full.
	full, most int
}

func (o *older) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	from, to := 0, o.works
	if options.Continue != "" {
		from, _ = strconv.Atoi(options.Continue)
	}
	list := &workv1.ManifestWorkList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if options.ResourceVersion != "0" && options.Limit > 0 && from+int(options.Limit) < o.works { // "0": from memory, in one page
		to = from + int(options.Limit)
		list.Continue = strconv.Itoa(to)
	}
	for i := from; i < to; i++ {
		w := workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: fmt.Sprint("work", i), GenerateName: "full"}}
		list.Items = append(list.Items, w)
	}
	o.full += len(list.Items)
	o.most = max(o.most, o.full)
	return list, nil
}

func (o *older) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	}
	return watch.NewFake(), nil
}

func (o *older) List(options metav1.ListOptions) (runtime.Object, error) {
	return o.ListWithContext(context.Background(), options)
}

func (o *older) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return o.WatchWithContext(context.Background(), options)
}

// TestListsAreMadeSmallPageByPage: at most a page of unreduced works is in memory at a time.
func TestListsAreMadeSmallPageByPage(t *testing.T) {
	server := &older{works: 1050}
	informer := New(server, &workv1.ManifestWork{}, 0, cache.Indexers{})
	err := informer.SetTransform(func(obj any) (any, error) {
		if w := obj.(*workv1.ManifestWork); w.GenerateName != "" {
			w.GenerateName = ""
			server.full--
		}
		return obj, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the cache was not filled")
	}
	if n := len(informer.GetStore().List()); n != server.works {
		t.Errorf("%d works are held, want %d", n, server.works)
	}
	if server.most > 50 || server.full != 0 {
		t.Errorf("%d works were in memory in full, and %d still are", server.most, server.full)
	}
}

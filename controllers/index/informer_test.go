package index

import (
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// TestNewInformer: of Applications and works, the indexes with a key for each have one entry, all others both.
func TestNewInformer(t *testing.T) {
	both := func(any) ([]string, error) { return []string{"ns/key", allNamespaces + "key"}, nil }
	for title, tc := range map[string]struct {
		informer cache.SharedIndexInformer
		index    string
		want     []string
	}{
		"one for each Application":    {NewInformer(&cache.ListWatch{}, &argocd.Application{}, 0, cache.Indexers{}), "field:" + ByWork, []string{allNamespaces + "key"}},
		"one for each work":           {NewInformer(&cache.ListWatch{}, &workv1.ManifestWork{}, 0, cache.Indexers{}), "field:" + ByHubApplication, []string{allNamespaces + "key"}},
		"one for many":                {NewInformer(&cache.ListWatch{}, &argocd.Application{}, 0, cache.Indexers{}), "field:" + ByCluster, []string{"ns/key", allNamespaces + "key"}},
		"of something else":           {NewInformer(&cache.ListWatch{}, &argocd.AppProject{}, 0, cache.Indexers{}), "field:" + ByWork, []string{"ns/key", allNamespaces + "key"}},
		"an index of client-go's own": {NewInformer(&cache.ListWatch{}, &argocd.Application{}, 0, cache.Indexers{}), cache.NamespaceIndex, []string{"ns/key", allNamespaces + "key"}},
	} {
		t.Run(title, func(t *testing.T) {
			if err := tc.informer.AddIndexers(cache.Indexers{tc.index: both}); err != nil {
				t.Fatal(err)
			}
			got, err := tc.informer.GetIndexer().GetIndexers()[tc.index](nil)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

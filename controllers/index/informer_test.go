package index

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// TestNewInformer: indexes of Applications and works have one entry, all others both.
func TestNewInformer(t *testing.T) {
	both := func(any) ([]string, error) { return []string{"ns/key", allNamespaces + "key"}, nil }
	one, two := []string{allNamespaces + "key"}, []string{"ns/key", allNamespaces + "key"}
	for title, tc := range map[string]struct {
		obj   runtime.Object
		index string
		want  []string
	}{
		"of Applications":             {&argocd.Application{}, "field:" + ByWork, one},
		"of works":                    {&workv1.ManifestWork{}, "field:" + ByHubApplication, one},
		"within a namespace":          {&argocd.Application{}, "field:" + ByCluster, two},
		"of something else":           {&argocd.AppProject{}, "field:" + ByWork, two},
		"an index of client-go's own": {&argocd.Application{}, cache.NamespaceIndex, two},
	} {
		t.Run(title, func(t *testing.T) {
			informer := NewInformer(&cache.ListWatch{}, tc.obj, 0, cache.Indexers{})
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

package informer

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// AllNamespaces is the prefix of controller-runtime's index keys for look-ups across all namespaces.
const AllNamespaces = "__all_namespaces/"

// FieldIndex is the prefix of the names of controller-runtime's field indexes.
const FieldIndex = "field:"

// New creates the informers of the cache. controller-runtime indexes every object twice: the second entry is
// for look-ups within a namespace. Towline never looks up Applications and works within a namespace. New leaves
// these entries out, so such an index cannot be combined with client.InNamespace. Together with coarse indexes, the
// omission reduced the memory of 10,000 Applications from 212 to 149 MiB (docs/scale.md).
//
// Objects written by clusters are reduced page by page, if the API server does not stream lists. A server other than
// kube-apiserver may serve works. During an outage of the server, the informer waits for the server.
func New(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
	switch obj.(type) {
	case *argocd.Application:
		return lean{cache.NewSharedIndexInformer(lw, obj, resync, by)}
	case *workv1.ManifestWork:
		return lean{newSifted(awaited(lw), obj, resync, by)}
	case *clusterv1.ManagedCluster:
		return newSifted(lw, obj, resync, by)
	}
	return cache.NewSharedIndexInformer(lw, obj, resync, by)
}

// sifted is an informer that transforms the objects of a list page by page, before the whole list is read.
type sifted struct {
	cache.SharedIndexInformer
	lists *Sieve
}

func newSifted(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, by cache.Indexers) sifted {
	lists := NewSieve(lw)
	return sifted{cache.NewSharedIndexInformer(lists, obj, resync, by), lists}
}

// SetTransform implements cache.SharedIndexInformer.
func (s sifted) SetTransform(f cache.TransformFunc) error {
	s.lists.Transform = f
	return s.SharedIndexInformer.SetTransform(f)
}

// lean is an informer whose indexes have no entries for single namespaces.
type lean struct{ cache.SharedIndexInformer }

// AddIndexers implements cache.SharedIndexInformer.
func (l lean) AddIndexers(indexers cache.Indexers) error {
	out := maps.Clone(indexers)
	for name, keys := range indexers {
		if !strings.HasPrefix(name, FieldIndex) {
			continue
		}
		out[name] = func(obj any) ([]string, error) {
			all, err := keys(obj)
			return slices.DeleteFunc(all, func(key string) bool { return !strings.HasPrefix(key, AllNamespaces) }), err
		}
	}
	return l.SharedIndexInformer.AddIndexers(out)
}

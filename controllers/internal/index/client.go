package index

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/informer"
)

// Client is a manager's client that looks objects up in the shared cache's indexes without copies. A list of
// controller-runtime copies each object found by an index. On a hub with 100,000 Applications, a coarse index finds
// twenty-five objects for a single match. Every event of a work causes look-ups, and a start has an event for every
// work. At a start, copying took longer than reading all objects from the hub.
type Client struct {
	client.Client
	informers ctrlcache.Informers
}

// NewClient is a client.NewClientFunc for a manager with a cache of informer.New. EnableReadYourWritesConsistency of
// controller-runtime 0.25 stays off. With 1,000 Applications, the option took 3.8 ms instead of 3.3 ms of Towline's CPU
// for each first status, and 11.8 ms instead of 9.0 ms for each change, with the same number of writes.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil || options.Cache == nil {
		return c, err
	}
	informers, ok := options.Cache.Reader.(ctrlcache.Informers)
	if !ok {
		return c, nil
	}
	return &Client{Client: c, informers: informers}, nil
}

// indexed returns the objects of a type that an index has for a value. Like a list, indexed waits until the cache is
// filled. indexed returns an error if the cache was not started. The objects are shared with the cache: the caller must
// not change the objects.
func indexed[T client.Object](ctx context.Context, c *Client, of T, name, value string) ([]T, error) {
	found, err := c.informers.GetInformer(ctx, of)
	if err != nil {
		return nil, err
	}
	shared, ok := found.(cache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("%T has no index: the cache has other informers than informer.New creates", of)
	}
	if !shared.HasSynced() {
		return nil, &ctrlcache.ErrCacheNotStarted{}
	}
	objects, err := shared.GetIndexer().ByIndex(informer.FieldIndex+name, informer.AllNamespaces+value)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(objects))
	for _, obj := range objects {
		o, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("the cache of %T holds a %T", of, obj)
		}
		out = append(out, o)
	}
	return out, nil
}

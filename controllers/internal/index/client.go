package index

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is a manager's client whose indexes give what the shared cache holds, without a copy. A list of controller-runtime copies
// each object that an index finds, and a coarse index finds twenty-five for one on a hub with 100,000 Applications. Every event of a work
// looks some up, and a start has an event for every work: copying took longer there than reading everything from the hub.
type Client struct {
	client.Client
	informers ctrlcache.Informers
}

// NewClient is a client.NewClientFunc for a manager with a cache of NewInformer.
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

// indexed are the objects of a type that an index has for a value. It waits until the cache has been filled, as a list does, and is an
// error where nobody has started the cache. The objects are the cache's own: not to be changed.
func indexed[T client.Object](ctx context.Context, c *Client, of T, name, value string) ([]T, error) {
	informer, err := c.informers.GetInformer(ctx, of)
	if err != nil {
		return nil, err
	}
	shared, ok := informer.(cache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("%T has no index: the cache is made of other informers than those of NewInformer", of)
	}
	if !shared.HasSynced() {
		return nil, &ctrlcache.ErrCacheNotStarted{}
	}
	found, err := shared.GetIndexer().ByIndex(fieldIndex+name, allNamespaces+value)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(found))
	for _, obj := range found {
		o, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("the cache of %T holds a %T", of, obj)
		}
		out = append(out, o)
	}
	return out, nil
}

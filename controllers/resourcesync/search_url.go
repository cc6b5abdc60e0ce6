package resourcesync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=operator.open-cluster-management.io,resources=multiclusterhubs,verbs=list

// rediscover is how long a discovered address stays valid.
const rediscover = 5 * time.Minute

var multiClusterHubs = schema.GroupVersionKind{
	Group: "operator.open-cluster-management.io", Version: "v1", Kind: "MultiClusterHubList",
}

// Discovery finds the hub's own search service. ACM runs the service in the namespace of its MultiClusterHub, and a hub
// has a single MultiClusterHub. Discovery does not look for the Service in other namespaces: any user could own such a
// Service, and would receive a token.
type Discovery struct {
	live  client.Reader
	clock clock.PassiveClock

	mu   sync.Mutex
	url  string
	next time.Time
}

// NewDiscovery creates a Discovery. live reads the API server.
func NewDiscovery(live client.Reader) *Discovery {
	return &Discovery{live: live, clock: clock.RealClock{}}
}

// URL returns the address of the search service. The error says why the hub has no known search service.
func (d *Discovery) URL(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.url != "" && d.clock.Now().Before(d.next) {
		return d.url, nil
	}
	namespace, err := d.namespace(ctx)
	if err != nil {
		return "", fmt.Errorf("find ACM Search (the file url in the folder of --search names the address): %w", err)
	}
	d.url = "https://search-search-api." + namespace + ".svc:4010/searchapi/graphql"
	d.next = d.clock.Now().Add(rediscover)
	return d.url, nil
}

func (d *Discovery) namespace(ctx context.Context) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(multiClusterHubs)
	err := d.live.List(ctx, list)
	switch {
	case meta.IsNoMatchError(err):
		return "", errors.New("this hub is not ACM's: no MultiClusterHub exists")
	case err != nil:
		return "", err
	case len(list.Items) != 1:
		return "", fmt.Errorf("this hub has %d MultiClusterHubs, not one", len(list.Items))
	}
	return list.Items[0].GetNamespace(), nil
}

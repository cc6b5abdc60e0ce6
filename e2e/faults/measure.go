package faults

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/growth"
	"github.com/towline-io/towline/e2e/scrape"
)

// Names of the additional measurements of a replica: its open watches, and the number of its requests.
const (
	watching = "watches"
	requests = "requests"
)

// measure measures a replica's process after a garbage collection.
func (r *replica) measure(ctx context.Context, into map[string]float64, as string) error {
	made, open := r.proxy.traffic.now()
	into[growth.Series(as, watching)], into[growth.Series(as, requests)] = total(open), total(made)
	return growth.Process(ctx, into, as, r.Metrics, r.Profiles)
}

// boundsOf returns the bounds of the replicas.
func boundsOf(replicas ...string) map[string]growth.Bound {
	out := growth.Bounds(replicas...)
	for _, r := range replicas {
		out[growth.Series(r, watching)] = growth.Watches
	}
	return out
}

func total(of map[string]int) (sum float64) {
	for _, n := range of {
		sum += float64(n)
	}
	return sum
}

// measureStore measures the hub's etcd, and the number of events according to the API server.
func (w *World) measureStore(ctx context.Context, into map[string]float64) error {
	client, err := rest.HTTPClientFor(w.Fleet.Hub.RESTConfig())
	if err != nil {
		return err
	}
	served, err := scrape.Metrics(ctx, client, w.Fleet.Hub.RESTConfig().Host+"/metrics")
	if err != nil {
		return err
	}
	return growth.Store(ctx, into, w.Fleet.Hub.EtcdAddress(), served)
}

package faults

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/growth"
	"github.com/towline-io/towline/e2e/scrape"
)

// What is measured besides what every process tells: the watches of a replica that are open, and how much it has asked for.
const (
	watching = "watches"
	requests = "requests"
)

// measure takes what there is to know of a replica's process, after a garbage collection.
func (r *replica) measure(ctx context.Context, into map[string]float64, as string) error {
	made, open := r.proxy.traffic.now()
	into[growth.Series(as, watching)], into[growth.Series(as, requests)] = total(open), total(made)
	return growth.Process(ctx, into, as, r.Metrics, r.Profiles)
}

// boundsOf are those of the replicas.
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

// measureStore takes what there is to know of the hub's etcd, which the API server tells how many events it has.
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

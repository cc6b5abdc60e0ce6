package faults

import (
	"context"
	"errors"
	"io"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/scrape"
)

const mebi = 1 << 20

// What is measured besides what has a bound.
const (
	queued   = "queued"
	requests = "requests"
)

// measure takes what there is to know of a replica's process, after a garbage collection.
func (r *replica) measure(ctx context.Context, into map[string]float64, as string) error {
	if err := collected(ctx, r.Profiles); err != nil {
		return err
	}
	of, err := scrape.Metrics(ctx, http.DefaultClient, r.Metrics+"/metrics")
	if err != nil {
		return err
	}
	into[series(as, heap)] = of.Sum("go_memstats_heap_alloc_bytes") / mebi
	into[series(as, goroutines)] = of.Sum("go_goroutines")
	into[series(as, descriptors)] = of.Sum("process_open_fds")
	into[series(as, queued)] = of.Sum("workqueue_depth")
	made, open := r.proxy.traffic.now()
	into[series(as, watching)], into[series(as, requests)] = total(open), total(made)
	return nil
}

// collected has a process collect its garbage.
func collected(ctx context.Context, profiles string) error {
	body, err := scrape.Open(ctx, http.DefaultClient, profiles+"/heap?gc=1")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

func total(of map[string]int) (sum float64) {
	for _, n := range of {
		sum += float64(n)
	}
	return sum
}

// measureStore takes what there is to know of the hub's etcd, which the API server tells how many events it has.
func (w *World) measureStore(ctx context.Context, into map[string]float64) error {
	of, err := scrape.Metrics(ctx, http.DefaultClient, "http://"+w.Fleet.Hub.EtcdAddress()+"/metrics")
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(w.Fleet.Hub.RESTConfig())
	if err != nil {
		return err
	}
	served, err := scrape.Metrics(ctx, client, w.Fleet.Hub.RESTConfig().Host+"/metrics")
	if err != nil {
		return err
	}
	into[storeFile] = of.Sum("etcd_mvcc_db_total_size_in_bytes") / mebi
	into[storeUsed] = of.Sum("etcd_mvcc_db_total_size_in_use_in_bytes") / mebi
	into[storeRevisions] = of.Sum("etcd_debugging_mvcc_current_revision") - of.Sum("etcd_debugging_mvcc_compact_revision")
	into[storeObjects] = served.Sum("apiserver_resource_objects")
	return nil
}

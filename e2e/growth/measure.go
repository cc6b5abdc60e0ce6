package growth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/towline-io/towline/e2e/scrape"
)

const mebi = 1 << 20

// What is taken of a process: what lives on its heap after a garbage collection, in MiB, and how many goroutines, open files and items in
// queues it has.
const (
	heap        = "heap"
	goroutines  = "goroutines"
	descriptors = "descriptors"
	queued      = "queued"
)

// Series is the name of what is measured of somebody.
func Series(of, kind string) string { return of + " " + kind }

// Process takes what there is to know of a process of Go that serves metrics and profiles there, after a garbage collection.
func Process(ctx context.Context, into map[string]float64, as, metrics, profiles string) error {
	if err := collected(ctx, profiles); err != nil {
		return err
	}
	of, err := scrape.Metrics(ctx, http.DefaultClient, metrics+"/metrics")
	if err != nil {
		return err
	}
	into[Series(as, heap)] = of.Sum("go_memstats_heap_alloc_bytes") / mebi
	into[Series(as, goroutines)] = of.Sum("go_goroutines")
	into[Series(as, descriptors)] = of.Sum("process_open_fds")
	into[Series(as, queued)] = of.Sum("workqueue_depth")
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

// What is taken of a hub's etcd: how large its file is and how much of that is used, in MiB, how many revisions it keeps until the
// API server has it drop them, and how many objects there are. Those that grow in number are events, which go after an hour.
const (
	storeFile      = "etcd file"
	storeUsed      = "etcd used"
	storeRevisions = "etcd revisions"
	storeObjects   = "objects"
)

// Store takes what there is to know of an etcd at that address, from it and from what its API server tells.
func Store(ctx context.Context, into map[string]float64, etcd string, server scrape.Families) error {
	of, err := scrape.Metrics(ctx, http.DefaultClient, "http://"+etcd+"/metrics")
	if err != nil {
		return err
	}
	into[storeFile] = of.Sum("etcd_mvcc_db_total_size_in_bytes") / mebi
	into[storeUsed] = of.Sum("etcd_mvcc_db_total_size_in_use_in_bytes") / mebi
	into[storeRevisions] = of.Sum("etcd_debugging_mvcc_current_revision") - of.Sum("etcd_debugging_mvcc_compact_revision")
	into[storeObjects] = server.Sum("apiserver_resource_objects")
	return nil
}

// stored says what etcd used in the end and at most.
func stored(samples []Sample) string {
	var most float64
	for _, s := range samples {
		most = max(most, s.Values[storeUsed])
	}
	last := samples[len(samples)-1].Values
	return fmt.Sprintf("etcd: %.1f MiB are used of %.1f MiB, at most %.1f were", last[storeUsed], last[storeFile], most)
}

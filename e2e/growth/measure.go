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

// Names of a process's measurements: the live heap after a garbage collection, in MiB, and the numbers of goroutines,
// open files and queued items.
const (
	heap        = "heap"
	goroutines  = "goroutines"
	descriptors = "descriptors"
	queued      = "queued"
)

// Series returns the name of a measurement of a process.
func Series(of, kind string) string { return of + " " + kind }

// Process measures a Go process with servers of metrics and profiles, after a garbage collection.
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

// collected makes a process collect its garbage.
func collected(ctx context.Context, profiles string) error {
	body, err := scrape.Open(ctx, http.DefaultClient, profiles+"/heap?gc=1")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// Names of the measurements of a hub's etcd: the size of its file and the used part, in MiB, the number of revisions
// since the last compaction, and the number of objects. Of the objects, only the number of events grows. Events expire
// after an hour.
const (
	storeFile      = "etcd file"
	storeUsed      = "etcd used"
	storeRevisions = "etcd revisions"
	storeObjects   = "objects"
)

// Store measures the etcd at an address, and adds the number of objects from the metrics of its API server.
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

// stored returns the last use and the maximum use of etcd.
func stored(samples []Sample) string {
	var most float64
	for _, s := range samples {
		most = max(most, s.Values[storeUsed])
	}
	last := samples[len(samples)-1].Values
	return fmt.Sprintf("etcd: %.1f MiB are used of %.1f MiB, at most %.1f were", last[storeUsed], last[storeFile], most)
}

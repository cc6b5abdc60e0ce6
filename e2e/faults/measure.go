package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

const mebi = 1 << 20

// What is measured besides what has a bound.
const (
	queued   = "queued"
	requests = "requests"
)

// measure takes what there is to know of a replica's process, after a garbage collection.
func (r *replica) measure(ctx context.Context, into map[string]float64, as string) error {
	if _, err := fetch(ctx, http.DefaultClient, r.towline.Profiles+"/heap?gc=1"); err != nil {
		return err
	}
	of, err := scrape(ctx, http.DefaultClient, strings.Replace(r.towline.Metrics, "https:", "http:", 1)+"/metrics")
	if err != nil {
		return err
	}
	into[series(as, heap)] = of.sum("go_memstats_heap_alloc_bytes") / mebi
	into[series(as, goroutines)] = of.sum("go_goroutines")
	into[series(as, descriptors)] = of.sum("process_open_fds")
	into[series(as, queued)] = of.sum("workqueue_depth")
	made, open := r.proxy.traffic.now()
	into[series(as, watching)], into[series(as, requests)] = total(open), total(made)
	return nil
}

func total(of map[string]int) (sum float64) {
	for _, n := range of {
		sum += float64(n)
	}
	return sum
}

// measureStore takes what there is to know of the hub's etcd, which the API server tells how many events it has.
func (w *World) measureStore(ctx context.Context, into map[string]float64) error {
	of, err := scrape(ctx, http.DefaultClient, "http://"+w.Fleet.Hub.EtcdAddress()+"/metrics")
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(w.Fleet.Hub.RESTConfig())
	if err != nil {
		return err
	}
	served, err := scrape(ctx, client, w.Fleet.Hub.RESTConfig().Host+"/metrics")
	if err != nil {
		return err
	}
	into[storeFile] = of.sum("etcd_mvcc_db_total_size_in_bytes") / mebi
	into[storeUsed] = of.sum("etcd_mvcc_db_total_size_in_use_in_bytes") / mebi
	into[storeRevisions] = of.sum("etcd_debugging_mvcc_current_revision") - of.sum("etcd_debugging_mvcc_compact_revision")
	into[storeObjects] = served.sum("apiserver_resource_objects")
	return nil
}

// families are the metrics of a process.
type families map[string]*dto.MetricFamily

func scrape(ctx context.Context, client *http.Client, url string) (families, error) {
	text, err := fetch(ctx, client, url)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(text))
}

// sum adds up a counter or a gauge over its labels.
func (f families) sum(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return sum
}

func fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(text), err
}

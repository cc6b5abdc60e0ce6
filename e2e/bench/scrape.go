package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families are the metrics of a process at one moment.
type families map[string]*dto.MetricFamily

// scrape reads the metrics of a process.
func scrape(ctx context.Context, client *http.Client, url string) (families, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(resp.Body)
}

// sum adds up a metric over all its labels; 0 when there is none.
func (f families) sum(name string) float64 {
	var total float64
	for _, m := range f[name].GetMetric() {
		total += valueOf(m)
	}
	return total
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Histogram != nil:
		return m.GetHistogram().GetSampleSum()
	}
	return m.GetUntyped().GetValue()
}

func labelsOf(m *dto.Metric) map[string]string {
	out := make(map[string]string, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

// counts are numbers of requests, or of bytes, by "<verb> <resource>[/<subresource>]".
type counts map[string]float64

// ofHub are the API groups that Towline has to do with; what the API server does with its own objects is left out.
var ofHub = []string{
	"argoproj.io", "work.open-cluster-management.io", "cluster.open-cluster-management.io",
	"apps.open-cluster-management.io", "events.k8s.io",
}

// requests are the requests that the API server has served; a watch counts when it ends. Those that met a conflict, because
// the object had changed since it was read, are counted once more as such.
func (f families) requests() counts {
	out := counts{}
	for _, m := range f["apiserver_request_total"].GetMetric() {
		l := labelsOf(m)
		if !slices.Contains(ofHub, l["group"]) || l["verb"] == "WATCH" {
			continue
		}
		what := l["resource"]
		if l["subresource"] != "" {
			what += "/" + l["subresource"]
		}
		out[l["verb"]+" "+what] += valueOf(m)
		if l["code"] == "409" {
			out[conflict+" "+what] += valueOf(m)
		}
	}
	return out
}

// written are the bytes of all bodies that the API server has been sent.
func (f families) written() counts {
	out := counts{}
	for _, m := range f["apiserver_request_body_size_bytes"].GetMetric() {
		if l := labelsOf(m); slices.Contains(ofHub, l["group"]) {
			out[strings.ToUpper(l["verb"])+" "+l["resource"]] += valueOf(m)
		}
	}
	return out
}

// since is what has been added since before. What was counted by a process that was started anew counts from its start.
func (c counts) since(before counts) counts {
	out := counts{}
	for key, n := range c {
		d := n - before[key]
		if d < 0 {
			d = n
		}
		if d != 0 {
			out[key] = d
		}
	}
	return out
}

// add adds others.
func (c counts) add(others counts) {
	for key, n := range others {
		c[key] += n
	}
}

// of adds up what matches: verbs, which may be empty for all, of a resource, which may be empty for all.
func (c counts) of(resource string, verbs ...string) float64 {
	var total float64
	for key, n := range c {
		verb, what, _ := strings.Cut(key, " ")
		if (resource == "" || what == resource) && (len(verbs) == 0 || slices.Contains(verbs, verb)) {
			total += n
		}
	}
	return total
}

// Verbs by what they do.
var (
	writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
	listing = []string{"LIST"}
	reading = []string{"GET"}
)

// conflict stands in place of a verb for writes that met one.
const conflict = "CONFLICT"

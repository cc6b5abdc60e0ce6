package scrape

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families are the metrics of a process at a moment, by name.
type Families map[string]*dto.MetricFamily

// Open requests a page. The caller reads and closes the body. If the status is not 200, the error names the page.
func Open(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // the body is not read
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return resp.Body, nil
}

// Metrics reads the metrics of a process from their page.
func Metrics(ctx context.Context, client *http.Client, url string) (Families, error) {
	body, err := Open(ctx, client, url)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(body)
}

// Sum adds up a metric over all its labels. The sum is 0 if the metric does not exist.
func (f Families) Sum(name string) float64 {
	var total float64
	for _, m := range f[name].GetMetric() {
		total += Value(m)
	}
	return total
}

// Value returns the value of a counter, a gauge or an untyped metric, or the sum of a histogram's observations.
func Value(m *dto.Metric) float64 {
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

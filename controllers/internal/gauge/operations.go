package gauge

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Operations measures the operations of users and sync policies on the clusters' Argo CDs. Both labels have a few
// values only, independent of the clusters' reports.
var Operations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name: "towline_operation_seconds",
	Help: "Duration of an operation, by kind (sync, automated-sync, dry-run or refresh) and outcome " +
		"(Succeeded, Failed, Error, or Dropped for a refresh without an answer).",
	Buckets: append(append([]float64{}, Seconds...), 120, 300, 600),
}, []string{"kind", "outcome"})

func init() {
	metrics.Registry.MustRegister(Operations)
}

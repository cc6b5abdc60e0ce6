package resourcetree

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	written = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_argocd_cache_writes_total",
		Help: "Writes of Applications' resources to Argo CD's Redis, by operation: set or delete.",
	}, []string{"operation"})

	failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_argocd_cache_failures_total",
		Help: "Failed requests to Argo CD's Redis.",
	})
)

func init() {
	metrics.Registry.MustRegister(written, failures)
}

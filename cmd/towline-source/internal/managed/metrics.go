package managed

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
)

var requests = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_source_managed_resources_total",
	Help: "Changes of managed resources in the Redis of the hub's Argo CD, by result: written, renewed or removed.",
}, []string{"result"})

// Failures counts the requests of agents that changed nothing.
var Failures = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_source_managed_resources_failures_total",
	Help: "Managed resources of clusters that the hub did not take, by reason: absent, closed, full, invalid, too-large, busy or hub.",
}, []string{"reason"})

func init() {
	for _, result := range []string{"written", "renewed", "removed"} {
		requests.WithLabelValues(result) // Prometheus sees no increase in a series without a first value
	}
	legacyregistry.RawMustRegister(requests, Failures)
}

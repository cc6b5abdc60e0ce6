package server

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
)

var failed = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_source_failures_total",
	Help: "Failures to read a repository for clusters, by reason: unverified, credential, missing, dns, unreachable, tls, interrupted, too-large, " +
		"secret, hub or other. Requests that share a look at the Git server count once.",
}, []string{"reason"})

func init() {
	for _, f := range slices.Concat(failures, []failure{tooLarge, unusable, other}) {
		failed.WithLabelValues(f.reason) // Prometheus sees no increase in a series without a first value
	}
	managed.Failures.WithLabelValues(hubFails)
	for _, a := range answers {
		if a.reason != "" {
			managed.Failures.WithLabelValues(a.reason)
		}
	}
	legacyregistry.RawMustRegister(failed)
}

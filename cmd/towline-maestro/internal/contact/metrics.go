package contact

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // metrics of the leader election
)

var (
	answered = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_maestro_answered",
		Help: "Whether Maestro answered the last request of a kind, and for subscribe, whether it tells this process of statuses. 0 if it could not " +
			"be reached, or refused this process. A process that waits to lead has no series.",
	}, []string{"request"})

	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_maestro_failures_total",
		Help: "Requests for which Maestro could not be reached, or refused this process, by kind.",
	}, []string{"request"})

	lastRead = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_maestro_last_read_timestamp_seconds",
		Help: "Unix time at which works were last read from Maestro, all or those that had changed; 0 if never.",
	})
)

func init() {
	for _, request := range []string{read, write, subscribe} { // Prometheus sees no increase in a series without a first value
		failures.WithLabelValues(request)
	}
	legacyregistry.RawMustRegister(answered, failures, lastRead)
}

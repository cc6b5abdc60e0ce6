package contact

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // metrics of the leader election
)

var (
	answered = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_maestro_answered",
		Help: "Whether Maestro answered the last request of a kind; for subscribe, whether Maestro sends statuses to this process. 0 if Maestro " +
			"was unreachable or refused this process. A standby process has no series.",
	}, []string{"request"})

	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_maestro_failures_total",
		Help: "Failed requests to Maestro, by kind: Maestro was unreachable, or refused this process.",
	}, []string{"request"})

	lastRead = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_maestro_last_read_timestamp_seconds",
		Help: "Unix time of the last read of works from Maestro, of all works or of the changed works; 0 if never.",
	})
)

func init() {
	for _, request := range []string{read, write, subscribe} { // Prometheus sees no increase in a series without a first value
		failures.WithLabelValues(request)
	}
	legacyregistry.RawMustRegister(answered, failures, lastRead)
}

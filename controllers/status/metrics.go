package status

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_application_status_writes_total",
		Help: "Patches of hub Applications' status with what their cluster reports.",
	})

	rejectedValues = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_feedback_rejected_total",
		Help: "Values reported by clusters that did not fit their field and were left out, by feedback rule.",
	}, []string{"rule"})
)

func init() {
	metrics.Registry.MustRegister(statusWrites, rejectedValues)
}

package resourcesync

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var rejectedValues = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_feedback_rejected_total",
	Help: "Values reported by clusters that did not fit their field and were left out, by feedback rule.",
}, []string{"rule"})

func init() {
	metrics.Registry.MustRegister(rejectedValues)
}

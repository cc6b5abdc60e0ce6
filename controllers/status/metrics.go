package status

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "towline_application_status_writes_total",
	Help: "Patches of hub Applications' status with what their cluster reports.",
})

func init() {
	metrics.Registry.MustRegister(statusWrites)
}

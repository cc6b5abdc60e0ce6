package propagation

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	workWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_manifestwork_writes_total",
		Help: "ManifestWorks written, by operation: create, update or delete.",
	}, []string{"operation"})

	blockedApplications = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_propagation_blocked",
		Help: "Applications that cannot be sent to their cluster as they are, by reason.",
	}, []string{"reason"})
)

func init() {
	metrics.Registry.MustRegister(workWrites, blockedApplications)
}

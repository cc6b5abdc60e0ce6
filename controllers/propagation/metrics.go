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

	orphaned = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_orphaned_applications",
		Help: "Applications that ManifestWorks speak of and the hub does not have, without having told of their end.",
	})

	heldRevocations = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_revocations_held",
		Help: "ManifestWorks that may not be where they are any more, and are kept because too many lost their right at a time.",
	})
)

func init() {
	metrics.Registry.MustRegister(workWrites, blockedApplications, orphaned, heldRevocations)
}

package companions

import (
	"github.com/prometheus/client_golang/prometheus"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/companion"
)

var (
	companionWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_companion_writes_total",
		Help: "ManifestWorks of companions written, by what they carry (project, credential or objects) and operation.",
	}, []string{"kind", "operation"})

	troubledApplications = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_companions_failing",
		Help: "Applications with a companion that does not travel or that their cluster did not take, by reason.",
	}, []string{"reason"})
)

func init() {
	metrics.Registry.MustRegister(companionWrites, troubledApplications)
}

func count(w *workv1.ManifestWork, operation string) {
	kind, _ := companion.KindOf(w.Name)
	companionWrites.WithLabelValues(string(kind), operation).Inc()
}

package dependencies

import (
	"github.com/prometheus/client_golang/prometheus"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/dependency"
)

var (
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_dependency_writes_total",
		Help: "ManifestWorks of dependencies written, by kind of content (project, credential, certificate, host-keys, namespace or " +
			"objects) and operation.",
	}, []string{"kind", "operation"})

	troubledApplications = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_dependencies_failing",
		Help: "Applications with a dependency not sent by Towline, or not applied by the cluster, by reason.",
	}, []string{"reason"})
)

func init() {
	metrics.Registry.MustRegister(writes, troubledApplications)
}

func kindOf(w *workv1.ManifestWork) dependency.Kind {
	kind, _ := dependency.KindOf(w.Name)
	return kind
}

package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	reportWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_agent_report_writes_total",
		Help: "ApplicationReports written to the hub by the agent.",
	})

	unmanagedApplications = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_agent_unmanaged_applications",
		Help: "Applications of the cluster without a ManifestWork on the hub: released, or restored from a backup of the cluster.",
	})
)

func init() {
	metrics.Registry.MustRegister(reportWrites, unmanagedApplications)
}

package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	reportWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_agent_report_writes_total",
		Help: "ApplicationReports that the agent wrote to the hub.",
	})

	unmanagedApplications = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_agent_unmanaged_applications",
		Help: "Applications of the cluster whose ManifestWork the hub does not have: released, or brought back by a backup of the cluster.",
	})
)

func init() {
	metrics.Registry.MustRegister(reportWrites, unmanagedApplications)
}

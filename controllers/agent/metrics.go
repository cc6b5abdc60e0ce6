package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var reportWrites = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "towline_agent_report_writes_total",
	Help: "ApplicationReports that the agent wrote to the hub.",
})

func init() {
	metrics.Registry.MustRegister(reportWrites)
}

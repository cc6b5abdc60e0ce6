package managed

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var requests = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_agent_managed_resources_total",
	Help: "Managed resources sent to the hub by the agent, by result: written, renewed, removed, refused or failed.",
}, []string{"result"})

func init() {
	metrics.Registry.MustRegister(requests)
}

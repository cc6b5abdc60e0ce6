package sourceproxy

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_agent_source_requests_total",
		Help: "Requests of the cluster's Argo CD to the agent's source proxy, by HTTP code.",
	}, []string{"code"})

	responseBytes = prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: "towline_agent_source_response_bytes",
		Help: "Bytes of the answers of the agent's source proxy.",
	}, []string{})

	keptAnswers = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_agent_source_kept_answers_total",
		Help: "Requests about references that the agent's source proxy answered without the hub, with a kept answer.",
	})
)

func init() {
	metrics.Registry.MustRegister(requests, responseBytes, keptAnswers)
}

// instrumented counts the requests and the bytes of a handler.
func instrumented(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerCounter(requests, promhttp.InstrumentHandlerResponseSize(responseBytes, next))
}

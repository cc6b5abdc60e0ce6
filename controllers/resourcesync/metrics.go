package resourcesync

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/search"
)

var rejectedValues = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_feedback_rejected_total",
	Help: "Values from clusters that Towline left out because they did not fit their field, by feedback rule.",
}, []string{"rule"})

var briefReports = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "towline_application_reports_brief",
	Help: "ApplicationReports whose lists Towline does not read, because the reports of that cluster need too much memory.",
})

var (
	searchFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_search_failures_total",
		Help: "Requests to ACM Search without an answer, by reason.",
	}, []string{"reason"})

	searchSuccess = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_search_last_success_timestamp_seconds",
		Help: "Unix time at which ACM Search last answered for all clusters that Towline asked about.",
	})

	searchStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_search_stale_clusters",
		Help: "Clusters about which ACM Search currently does not answer.",
	})

	searchRejected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_search_rejected_total",
		Help: "Items in answers of ACM Search that Towline left out, because they did not fit or were too many.",
	})
)

func init() {
	for _, rule := range feedback.Rules(feedback.MaxSources) { // without a zero first, Prometheus misses the first increase
		for _, value := range rule.JsonPaths {
			rejectedValues.WithLabelValues(value.Name)
		}
	}
	for _, reason := range search.Reasons {
		searchFailures.WithLabelValues(string(reason))
	}
	metrics.Registry.MustRegister(searchFailures, searchSuccess, searchStale, searchRejected)
	metrics.Registry.MustRegister(rejectedValues, briefReports)
}

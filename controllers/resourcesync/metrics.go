package resourcesync

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/search"
)

var rejectedValues = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "towline_feedback_rejected_total",
	Help: "Values from clusters left out by Towline because of a wrong format for the field, by feedback rule.",
}, []string{"rule"})

var briefReports = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "towline_application_reports_brief",
	Help: "ApplicationReports without read lists, because the reports of the cluster need too much memory.",
})

var (
	searchFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_search_failures_total",
		Help: "Requests to ACM Search without an answer, by reason.",
	}, []string{"reason"})

	searchSuccess = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_search_last_success_timestamp_seconds",
		Help: "Unix time of the last complete answer of ACM Search, for all clusters in the queries of Towline.",
	})

	searchStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_search_stale_clusters",
		Help: "Clusters currently without an answer from ACM Search.",
	})

	searchRejected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_search_rejected_total",
		Help: "Items in answers of ACM Search left out by Towline, because the items did not fit or were too many.",
	})
)

func init() {
	// Without a zero first, Prometheus misses the first increase.
	for _, rule := range append(feedback.Rules(feedback.MaxSources), feedback.DetailRule()) {
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

package aggregation

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/report"
)

var (
	byHealth = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_applications_by_health",
		Help: "Applications of an ApplicationSet by the health from the cluster. None means no reported health.",
	}, []string{"namespace", "applicationset", "health"})

	bySync = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_applications_by_sync",
		Help: "Applications of an ApplicationSet by the sync status from the cluster. None means no reported sync status.",
	}, []string{"namespace", "applicationset", "sync"})

	truncatedRows = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_report_truncated_rows",
		Help: "Applications of an ApplicationSet counted but not listed in the report, because the report is full.",
	}, []string{"namespace", "applicationset"})

	reportWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_report_writes_total",
		Help: "Reports written, by operation: create, update or delete.",
	}, []string{"operation"})

	crdMissing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_report_crd_missing",
		Help: "1 while the hub lacks the CRD of reports: Towline writes no reports. 0 otherwise.",
	})

	reportDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_report_delay_seconds",
		Help:    "Time from the first change in a write of a report until the end of the write.",
		Buckets: []float64{.05, .1, .2, .3, .5, 1, 2, 5, 10, 30, 60},
	})

	// measured is the memory of the running controller.
	measured atomic.Pointer[memory]

	reportLag = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "towline_report_lag_seconds",
		Help: "Age in seconds of the oldest change without a written report. 0 means complete reports.",
	}, lag)
)

func init() {
	metrics.Registry.MustRegister(byHealth, bySync, truncatedRows, reportWrites, crdMissing, reportDelay, reportLag)
}

func lag() float64 {
	m := measured.Load()
	if m == nil {
		return 0
	}
	oldest := m.oldest()
	if oldest.IsZero() {
		return 0
	}
	return time.Since(oldest).Seconds()
}

// showCounts sets the gauges of a set. Only Argo CD's codes are used, because a cluster must not create new label
// values.
func showCounts(key types.NamespacedName, s *set) {
	tally := s.rows.Tally()
	show := func(gauge *prometheus.GaugeVec, codes []string, counts map[string]int) {
		for _, code := range codes {
			gauge.WithLabelValues(key.Namespace, key.Name, code).Set(float64(counts[code]))
		}
		gauge.WithLabelValues(key.Namespace, key.Name, report.Unknown).Set(float64(counts[report.Unknown]))
	}
	show(byHealth, argocd.HealthCodes, tally.ByHealth)
	show(bySync, argocd.SyncCodes, tally.BySync)
	truncatedRows.WithLabelValues(key.Namespace, key.Name).Set(float64(s.omitted))
}

func forgetCounts(key types.NamespacedName) {
	set := prometheus.Labels{"namespace": key.Namespace, "applicationset": key.Name}
	for _, gauge := range []*prometheus.GaugeVec{byHealth, bySync, truncatedRows} {
		gauge.DeletePartialMatch(set)
	}
}

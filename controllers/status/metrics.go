package status

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

var (
	statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "towline_application_status_writes_total",
		Help: "Patches of the status of an Application on the hub with the report of a cluster.",
	})

	statusTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_status_seconds",
		Help:    "Time from when Towline sees a report of a cluster until the end of the status write of the Application on the hub.",
		Buckets: gauge.Seconds,
	})
)

func init() {
	metrics.Registry.MustRegister(statusWrites, statusTime)
}

// measure counts a write of a status. reported is the time of the cluster's report; zero for a write without a report.
func measure(before, after *argocd.Status, reported, now time.Time) {
	statusWrites.Inc()
	if !reported.IsZero() {
		statusTime.Observe(now.Sub(reported).Seconds())
	}
	if kind, took, ended := operationEnd(before.OperationState, after.OperationState); ended {
		gauge.Operations.WithLabelValues(kind, after.OperationState.Phase).Observe(took.Seconds())
	}
}

// operationEnd reports whether an operation has ended that the hub did not know as ended. It returns the kind of the
// operation, and the duration according to the cluster.
func operationEnd(before, after *argocd.OperationState) (kind string, took time.Duration, ended bool) {
	if !over(after) || over(before) && before.StartedAt == after.StartedAt {
		return "", 0, false
	}
	kind = "sync"
	switch {
	case after.Operation.Sync.DryRun:
		kind = "dry-run"
	case after.Operation.InitiatedBy != nil && after.Operation.InitiatedBy.Automated:
		kind = "automated-sync"
	}
	began, err := time.Parse(time.RFC3339, after.StartedAt)
	if err != nil {
		return kind, 0, true
	}
	finished, err := time.Parse(time.RFC3339, after.FinishedAt)
	if err != nil {
		return kind, 0, true
	}
	return kind, max(0, finished.Sub(began)), true
}

// over reports whether an operation has ended. Only Argo CD's phases count, because a cluster must not create new label
// values.
func over(o *argocd.OperationState) bool {
	if o == nil {
		return false
	}
	return o.Phase == "Succeeded" || o.Phase == "Failed" || o.Phase == "Error"
}

package propagation

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/pkg/delivery"
)

var (
	workWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_manifestwork_writes_total",
		Help: "ManifestWorks written, by operation: create, update or delete.",
	}, []string{"operation"})

	blockedApplications = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_propagation_blocked",
		Help: "Applications that Towline cannot send to their cluster in their current form, by reason.",
	}, []string{"reason"})

	orphaned = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_orphaned_applications",
		Help: "Lost Applications: they have a ManifestWork, but the hub no longer has them and Towline did not see their deletion.",
	})

	propagationTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_propagation_seconds",
		Help:    "Time from when Towline sees a change of an Application until it has first written a ManifestWork for the change.",
		Buckets: gauge.Seconds,
	})

	deliveryTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_delivery_seconds",
		Help:    "Time from the write of an Application's ManifestWork until Towline sees that the cluster's work agent has applied it.",
		Buckets: gauge.Seconds,
	})

	heldRevocations = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_revocations_held",
		Help: "ManifestWorks that are no longer permitted on their cluster, but that Towline keeps because too many lost their permission at once.",
	})
)

func init() {
	metrics.Registry.MustRegister(workWrites, blockedApplications, orphaned, heldRevocations, propagationTime, deliveryTime, collector{})
}

// count updates the metrics about the state of the Application.
func count(r *Reconciler, seen *observation, plan *delivery.Plan) {
	seen.since = time.Time{} // the plan handles every change seen so far
	refreshed(seen, plan.Refreshed, r.now())
	if !plan.Silent && seen.Presence != delivery.Behind {
		is := plan.Standing(&seen.Facts)
		r.states.set(seen.Key, r.now(), is, targetOf(seen.App, seen.Clusters))
		r.times.stands(seen, is, time.Now())
	}
	switch {
	case seen.Presence != delivery.Present:
		r.blocked.Set(blockedApplications, seen.Key, "")
	case !plan.Silent:
		r.blocked.Set(blockedApplications, seen.Key, plan.Blocked())
	}
}

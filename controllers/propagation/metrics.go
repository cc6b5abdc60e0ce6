package propagation

import (
	"context"
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
		Help: "Applications that Towline cannot send to the cluster in the current form, by reason.",
	}, []string{"reason"})

	orphaned = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_orphaned_applications",
		Help: "Lost Applications: the ManifestWork exists, the Application on the hub is gone, and Towline did not see the deletion.",
	})

	propagationTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_propagation_seconds",
		Help:    "Time from when Towline sees a change of an Application until the first write of a ManifestWork for the change.",
		Buckets: gauge.Seconds,
	})

	deliveryTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "towline_delivery_seconds",
		Help:    "Time from the write of an Application's ManifestWork until Towline sees the work as applied by the cluster's work agent.",
		Buckets: gauge.Seconds,
	})

	heldRevocations = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "towline_revocations_held",
		Help: "ManifestWorks without a permission for the cluster, kept by Towline because too many ManifestWorks lost the permission at once.",
	})
)

func init() {
	metrics.Registry.MustRegister(workWrites, blockedApplications, orphaned, heldRevocations, propagationTime, deliveryTime, collector{})
}

// count updates the metrics about the state of the Application.
func count(ctx context.Context, r *Reconciler, seen *observation, plan *delivery.Plan) {
	seen.since = time.Time{} // the plan handles every change seen so far
	refreshed(seen, plan.Refreshed, r.now())
	if !plan.Silent && seen.Presence != delivery.Behind {
		is := appStateOf(plan, &seen.Facts)
		r.states.set(seen.Key, r.now(), is, targetOf(seen.App, seen.Clusters))
		if now := time.Now(); r.times.stands(seen, is.state, applied(plan, &seen.Facts), now) {
			seen.traced.applied(ctx, seen, now)
		}
	}
	switch {
	case seen.Presence != delivery.Present:
		r.blocked.Set(blockedApplications, seen.Key, "")
	case !plan.Silent:
		r.blocked.Set(blockedApplications, seen.Key, plan.Blocked())
	}
}

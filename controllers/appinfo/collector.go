package appinfo

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appinfo"
	"github.com/towline-io/towline/pkg/work"
)

// patience is the time limit for one collection.
const patience = 10 * time.Second

// Collector serves the metric argocd_app_info.
type Collector struct {
	// Reader is a cache of Applications and ManifestWorks.
	Reader client.Reader

	// Leads is closed once this process leads.
	Leads <-chan struct{}
}

var (
	_    prometheus.Collector = &Collector{}
	info                      = prometheus.NewDesc(appinfo.Name, appinfo.Help, appinfo.Labels, nil)
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { ch <- info }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-c.Leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list := &argocd.ApplicationList{}
	if err := c.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.Log.WithName("appinfo").Error(err, "argocd_app_info is not served: Applications cannot be listed")
		return
	}
	for i := range list.Items {
		// The hub's own Argo CD serves the metric for Applications without skip-reconcile.
		if app := &list.Items[i]; app.Pulled() && app.ReconcileSkipped() {
			ch <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, appinfo.Values(c.reported(ctx, app))...)
		}
	}
}

// reported returns the Application with its status only if a cluster has reported on the Application's own work. In
// this case the status controller corrects the status. Any different status may come from a tenant, so the metric shows
// Unknown.
func (c *Collector) reported(ctx context.Context, app *argocd.Application) *argocd.Application {
	w := &workv1.ManifestWork{}
	err := c.Reader.Get(ctx, work.Key(app), w, client.UnsafeDisableDeepCopy)
	if err == nil && len(w.Status.ResourceStatus.Manifests) > 0 {
		return app
	}
	bare := *app
	bare.Status = argocd.Status{}
	return &bare
}

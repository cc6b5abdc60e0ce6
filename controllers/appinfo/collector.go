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

// patience is how long one collection may take.
const patience = 10 * time.Second

// Collector is the metric.
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
		// The hub's own Argo CD tells of those that it does not skip.
		if app := &list.Items[i]; app.Pulled() && app.ReconcileSkipped() {
			ch <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, appinfo.Values(c.reported(ctx, app))...)
		}
	}
}

// reported is an Application with its status only where a cluster has reported on the Application's own work. The status controller
// puts the status right then. Any other status may be a tenant's, and the metric says Unknown.
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

package appinfo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// cache has the given Applications, and for each Application a work with the given status.
type cache struct {
	client.Reader
	apps   []argocd.Application
	status *workv1.ManifestWorkStatus
}

func (c *cache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.status == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.(*workv1.ManifestWork).Status = *c.status
	return nil
}

func (c *cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*argocd.ApplicationList).Items = c.apps
	return nil
}

func gather(t *testing.T, c *Collector) []*dto.Metric {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var metrics []*dto.Metric
	for _, family := range families {
		metrics = append(metrics, family.GetMetric()...)
	}
	return metrics
}

func closed() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func TestCollect(t *testing.T) {
	c := &cache{apps: []argocd.Application{
		*fixture.Application("pulled").Obj(),
		*fixture.Application("pushed").Label(apis.LabelPull, "false").Obj(),
		*fixture.Application("the-hub-s-own").NoAnnotation(apis.AnnotationSkipReconcile).Obj(),
	}}
	got := gather(t, &Collector{Reader: c, Leads: closed()})
	if len(got) != 1 || got[0].GetGauge().GetValue() != 1 {
		t.Fatalf("got %v", got)
	}
	for _, label := range got[0].GetLabel() {
		if label.GetName() == "name" && label.GetValue() != "pulled" {
			t.Errorf("got %v", label)
		}
	}
	if got := gather(t, &Collector{Reader: c, Leads: make(chan struct{})}); len(got) > 0 {
		t.Errorf("a replica that does not lead tells of %v", got)
	}
}

// TestHealthWithoutAReport: a tenant writes the status of an Application without a report from a cluster. The metric
// ignores the status.
func TestHealthWithoutAReport(t *testing.T) {
	app := fixture.Application("pulled").Cluster("cluster1").
		Status(argocd.Status{Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "Synced"}}).Obj()
	reported := fixture.Feedback(work.Identifier(app)).Obj()
	for title, tc := range map[string]struct {
		status *workv1.ManifestWorkStatus
		want   string
	}{
		"no work":                  {nil, "Unknown"},
		"a work without a report":  {&workv1.ManifestWorkStatus{}, "Unknown"},
		"a work that was reported": {&reported, "Healthy"},
	} {
		c := &cache{apps: []argocd.Application{*app}, status: tc.status}
		for _, label := range gather(t, &Collector{Reader: c, Leads: closed()})[0].GetLabel() {
			if label.GetName() == "health_status" && label.GetValue() != tc.want {
				t.Errorf("%s: got %s", title, label.GetValue())
			}
		}
	}
}

// TestTenThousandApplications: a scrape of a large hub has each Application once. The duration is only logged:
// Prometheus waits for ten seconds, and a busy machine would distort the result.
func TestTenThousandApplications(t *testing.T) {
	c := &cache{}
	for i := range 10_000 {
		c.apps = append(c.apps, *fixture.Application(fmt.Sprintf("app-%05d", i)).Obj())
	}
	began := time.Now()
	got := gather(t, &Collector{Reader: c, Leads: closed()})
	t.Logf("%d Applications in %s", len(got), time.Since(began))
	if len(got) != len(c.apps) {
		t.Errorf("got %d series of %d Applications", len(got), len(c.apps))
	}
}

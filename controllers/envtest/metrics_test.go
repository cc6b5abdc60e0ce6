package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// series returns the series of a metric with the given label values. Further labels do not matter.
func series(t *testing.T, name string, labels map[string]string) (found []*dto.Metric) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			fits := 0
			for _, l := range m.GetLabel() {
				if labels[l.GetName()] == l.GetValue() && l.GetValue() != "" {
					fits++
				}
			}
			if fits == len(labels) {
				found = append(found, m)
			}
		}
	}
	return found
}

// samples returns the number of observations of a histogram, over all series with the labels.
func samples(t *testing.T, name string, labels map[string]string) (n uint64) {
	t.Helper()
	for _, m := range series(t, name, labels) {
		n += m.GetHistogram().GetSampleCount()
	}
	return n
}

// expectCounted waits until the metric counts the wanted number of a namespace's Applications in a state. An empty
// reason matches any reason.
func expectCounted(t *testing.T, namespace, state, reason string, want float64) {
	t.Helper()
	labels := map[string]string{"namespace": namespace, "state": state}
	if reason != "" {
		labels["reason"] = reason
	}
	NewWithT(t).Eventually(func() (n float64) {
		for _, m := range series(t, "towline_applications", labels) {
			n += m.GetGauge().GetValue()
		}
		return n
	}, soon, tick).Should(Equal(want), "Applications %v", labels)
}

// expectUncounted waits until the metric has no series for a namespace.
func expectUncounted(t *testing.T, namespace string) {
	t.Helper()
	NewWithT(t).Eventually(func() int { return len(series(t, "towline_applications", map[string]string{"namespace": namespace})) }, soon, tick).
		Should(BeZero(), "series of Applications in %s", namespace)
}

// TestApplicationsAreCountedByState: the metric counts Applications in every state until their deletion, also without a
// cluster or an ApplicationSet. Further metrics measure the time of each step of the delivery.
func TestApplicationsAreCountedByState(t *testing.T) {
	start(t)
	g := NewWithT(t)
	on := cluster(t)
	app := application(t, on).Cluster("").Obj()
	create(t, app)
	expectCounted(t, app.Namespace, "blocked", apis.ReasonClusterAnnotationMissing, 1)
	g.Expect(series(t, "towline_application_oldest_seconds", map[string]string{"namespace": app.Namespace, "state": "blocked"})).To(HaveLen(1))

	sent, done := samples(t, "towline_propagation_seconds", nil), samples(t, "towline_delivery_seconds", nil)
	told := samples(t, "towline_status_seconds", nil)
	ended := samples(t, "towline_operation_seconds", map[string]string{"kind": "sync", "outcome": "Succeeded"})
	edit(t, app, func(a *argocd.Application) {
		metav1.SetMetaDataAnnotation(&a.ObjectMeta, apis.AnnotationCluster, on.Name)
	})
	expectWork(t, app)
	expectCounted(t, app.Namespace, "blocked", "", 0)
	expectCounted(t, app.Namespace, "pending", "", 1)
	report(t, app, feedbackOf(app).Healthy("abc"))
	expectHealth(t, app, "Healthy")
	expectCounted(t, app.Namespace, "delivered", "", 1)
	for name, before := range map[string]uint64{"towline_propagation_seconds": sent, "towline_delivery_seconds": done, "towline_status_seconds": told} {
		g.Eventually(func() uint64 { return samples(t, name, nil) }, soon, tick).Should(BeNumerically(">", before), name)
	}
	g.Eventually(func() uint64 {
		return samples(t, "towline_operation_seconds", map[string]string{"kind": "sync", "outcome": "Succeeded"})
	}, soon, tick).Should(BeNumerically(">", ended))
	g.Expect(series(t, "towline_cluster_last_heard_timestamp_seconds", map[string]string{"cluster": on.Name})).To(HaveLen(1))

	edit(t, app, func(a *argocd.Application) {
		metav1.SetMetaDataAnnotation(&a.ObjectMeta, apis.AnnotationPaused, "true")
	})
	expectCounted(t, app.Namespace, "paused", "", 1)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationPaused) })
	expectCounted(t, app.Namespace, "delivered", "", 1)
	remove(t, app)
	expectUncounted(t, app.Namespace)
}

package envtest_test

import (
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	towlinereport "github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// TestAggregationUnderANarrowSchema: if the API server drops fields of the reports, a restart still writes no report
// again. A single event, on one report, names the missing fields.
func TestAggregationUnderANarrowSchema(t *testing.T) {
	if !*publishedCRDs {
		t.Skip("with -published-crds only")
	}
	unshared(t) // a running Towline may have sent the event already
	first := start(t)
	sets := []appSet{applicationSet(t), applicationSet(t), applicationSet(t)}
	var apps []*argocd.Application
	for _, set := range sets {
		app := set.application(cluster(t), "a").Obj()
		create(t, app)
		report(t, app, feedbackOf(app).Healthy("a"))
		expectHealth(t, app, "Healthy")
		set.expect(t, healths("Healthy"))
		apps = append(apps, app)
	}
	NewWithT(t).Eventually(func() int { return narrowEvents(t, sets) }, soon, tick).Should(Equal(1))
	first.stop()
	second := start(t)
	for i, set := range sets {
		before := set.report(t)
		NewWithT(t).Eventually(func() []string { return second.writes.takeReports(http.MethodGet, set.Namespace) }, soon, tick).ShouldNot(BeEmpty())
		report(t, apps[i], feedbackOf(apps[i]).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
		after := set.expect(t, healths("Degraded"))
		if made := second.writes.takeReports(http.MethodPut, set.Namespace); len(made) != 1 {
			t.Errorf("a restart and a change took the writes %q", made)
		}
		if after.Generation != before.Generation+1 {
			t.Errorf("generation %d after %d", after.Generation, before.Generation)
		}
	}
	t.Run("what it does not have changes", func(t *testing.T) {
		set, app := sets[0], apps[0]
		key := work.Key(app)
		r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		r.Application = v1alpha1.ReportedApplication{Namespace: app.ClusterNamespace(), Name: app.Name, ResourceVersion: "7"}
		says := func(rest string) argocd.Status {
			return statusOf(t, `{"health":{"status":"Degraded"},"sync":{"status":"Synced"},"resources":[{"kind":"Service","name":"a",`+rest+`}]}`)
		}
		r.ObservedAt, r.Status = "2026-01-02T03:04:05Z", says(`"status":"Synced"`)
		create(t, r)
		set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
			g.Expect(r.Statuses.Resources).To(HaveLen(1))
		})
		second.writes.takeReports(http.MethodPut, set.Namespace)
		edit(t, r, func(r *v1alpha1.ApplicationReport) {
			r.Application.ResourceVersion, r.ObservedAt, r.Status = "8", "2026-01-02T03:05:05Z", says(`"status":"OutOfSync"`)
		})
		// Towline writes the status of the Application separately from the report, and the status may have no resources
		// yet.
		NewWithT(t).Eventually(func() []argocd.ResourceStatus { return get(t, app.DeepCopy()).Status.Resources }, soon, tick).
			Should(ConsistOf(HaveField("Status", "OutOfSync")))
		settled(t)
		if made := second.writes.takeReports(http.MethodPut, set.Namespace); len(made) > 0 {
			t.Errorf("the report says nothing else, and took the writes %q", made)
		}
	})
}

// narrowEvents counts the events about a narrow schema.
func narrowEvents(t *testing.T, sets []appSet) (n int) {
	t.Helper()
	for _, set := range sets {
		list := &eventsv1.EventList{}
		if err := k8s.List(t.Context(), list, client.InNamespace(set.Namespace)); err != nil {
			t.Fatal(err)
		}
		n += len(slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != apis.ReasonSchemaNarrow }))
	}
	return n
}

// TestAggregationOverAReportThatWasCut: after the hub gets the full schema, Towline rewrites a report that a narrower
// schema has cut. The API server does not refuse the write because of the missing fields.
func TestAggregationOverAReportThatWasCut(t *testing.T) {
	if *publishedCRDs {
		t.Skip("not with -published-crds")
	}
	first := start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	set.expect(t, healths("Healthy"))
	first.stop()
	cut := towlinereport.Published(set.report(t))
	if err := k8s.Update(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	start(t)
	NewWithT(t).Eventually(func() int { return len(set.report(t).Status.Conditions) }, soon, tick).Should(BeNumerically(">", 0))
}

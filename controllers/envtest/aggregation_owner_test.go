package envtest_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// collect deletes the report after its ApplicationSet, in the role of the garbage collector. envtest has no garbage
// collector.
func (s appSet) collect(t *testing.T) {
	t.Helper()
	if err := k8s.Delete(t.Context(), s.expect(t, healths(""))); err != nil {
		t.Fatal(err)
	}
}

// end deletes the ApplicationSet. With finalizers, the ApplicationSet stays with a deletion timestamp.
func (s appSet) end(t *testing.T, finalizers ...string) {
	t.Helper()
	set := get(t, setObject(s.Namespace, s.Name))
	edit(t, set, func(o *unstructured.Unstructured) { o.SetFinalizers(finalizers) })
	if err := k8s.Delete(t.Context(), set, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
}

// aggregated waits until the reports include all earlier changes, by creating two more reports.
func aggregated(t *testing.T) {
	t.Helper()
	for range 2 {
		set := applicationSet(t)
		create(t, set.application(cluster(t), "barrier").Obj())
		set.expect(t, healths(""))
	}
}

// TestNoReportOfAnApplicationSetThatIsGone: the Applications wait for their clusters, and the garbage collector has
// deleted the report. A new report with the UID of the deleted owner would be deleted again, and the loop would never
// end.
func TestNoReportOfAnApplicationSetThatIsGone(t *testing.T) {
	for title, finalizers := range map[string][]string{"gone": nil, "being deleted": {"towline.test/held"}} {
		t.Run(title, func(t *testing.T) {
			towline := start(t)
			set := applicationSet(t)
			app := set.application(cluster(t), "a").Obj()
			create(t, app)
			set.expect(t, healths(""))
			aggregated(t)
			set.end(t, finalizers...)
			set.collect(t)
			towline.writes.takeReports(http.MethodPost, set.Namespace)

			for _, health := range []string{"Degraded", "Healthy"} {
				report(t, app, feedbackOf(app).String("healthStatus", health).String("syncStatus", "Synced"))
				expectHealth(t, app, health)
				aggregated(t)
			}
			if made := towline.writes.takeReports(http.MethodPost, set.Namespace); len(made) > 0 {
				t.Errorf("%d reports were made of an ApplicationSet that is %s", len(made), title)
			}
			if r := set.report(t); r != nil {
				t.Errorf("there is a report, whose owner is %s: %+v", title, r.OwnerReferences)
			}
		})
	}
}

// TestReportOfAnApplicationSetThatIsMadeAgain: the report belongs to the existing ApplicationSet, even if the
// Applications name an earlier owner. The report also lists the Applications of the first ApplicationSet.
func TestReportOfAnApplicationSetThatIsMadeAgain(t *testing.T) {
	start(t)
	first := applicationSet(t)
	create(t, first.application(cluster(t), "a").Obj())
	first.expect(t, healths(""))
	aggregated(t)
	first.end(t)
	first.collect(t)
	aggregated(t)
	if r := first.report(t); r != nil {
		t.Fatalf("there is a report whose owner is gone: %+v", r.OwnerReferences)
	}
	second := applicationSetNamed(t, first.Namespace, first.Name)
	owned := func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.OwnerReferences).To(HaveLen(1))
		g.Expect(r.OwnerReferences[0].UID).To(Equal(second.uid))
	}
	second.expect(t, owned)
	create(t, second.application(cluster(t), "b").Obj())
	second.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		owned(g, r)
		healths("", "")(g, r)
	})
}

// TestReportOfAnApplicationSetThatIsReplaced: a report that outlived its ApplicationSet gets the next ApplicationSet of
// the same name as its owner.
func TestReportOfAnApplicationSetThatIsReplaced(t *testing.T) {
	start(t)
	first := applicationSet(t)
	app := first.application(cluster(t), "a").Obj()
	create(t, app)
	before := first.expect(t, healths(""))
	first.end(t)
	second := applicationSetNamed(t, first.Namespace, first.Name)
	second.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.OwnerReferences).To(HaveLen(1))
		g.Expect(r.OwnerReferences[0].UID).To(Equal(second.uid))
	})
	if r := second.report(t); r.UID != before.UID {
		t.Error("the report was made anew")
	}
}

// TestReportsOfAHubThatGetsApplicationSetsLater: until the hub serves ApplicationSets, Towline knows of no
// ApplicationSet and writes no report.
func TestReportsOfAHubThatGetsApplicationSetsLater(t *testing.T) {
	installed := &atomic.Bool{}
	startWith(t, func(m meta.RESTMapper) meta.RESTMapper { return lateKind{m, "ApplicationSet", installed} })
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	settled(t)
	if r := set.report(t); r != nil {
		t.Errorf("there is a report whose owner nobody knows: %+v", r.OwnerReferences)
	}
	installed.Store(true)
	set.expect(t, healths("Healthy"))
	if got := failuresIn(set.Namespace); len(got) > 0 {
		t.Errorf("something failed on the way: %s", got)
	}
}

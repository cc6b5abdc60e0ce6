package envtest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	reports "github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// forbidden is the error of a cluster whose Argo CD lacks rights in the namespace.
const forbidden = `Failed sync attempt to 53e28ff: one or more objects failed to apply, reason: services is forbidden: ` +
	`User "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller" cannot create resource "services"`

// appSet is the key and the UID of an ApplicationSet.
type appSet struct {
	client.ObjectKey
	uid types.UID
}

// applicationSet creates an ApplicationSet in its own namespace.
func applicationSet(t *testing.T) appSet {
	t.Helper()
	return applicationSetNamed(t, namespace(t, unique("sets")), "guestbook")
}

func applicationSetNamed(t *testing.T, namespace, name string) appSet {
	t.Helper()
	set := setObject(namespace, name)
	create(t, set)
	return appSet{client.ObjectKeyFromObject(set), set.GetUID()}
}

// application returns a builder for an Application of the ApplicationSet.
func (s appSet) application(c *clusterv1.ManagedCluster, name string) *fixture.ApplicationBuilder {
	return fixture.Application(name).Namespace(s.Namespace).Cluster(c.Name).ApplicationSet(s.Name).Owner(s.uid)
}

// report returns the report of the ApplicationSet, or nil if no report exists.
func (s appSet) report(t *testing.T) *v1alpha1.MulticlusterApplicationSetReport {
	t.Helper()
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	r.Namespace, r.Name = s.Namespace, s.Name
	return get(t, r)
}

// expect waits until check passes for the report of the ApplicationSet, and returns the report.
func (s appSet) expect(t *testing.T, check func(Gomega, *v1alpha1.MulticlusterApplicationSetReport)) *v1alpha1.MulticlusterApplicationSetReport {
	t.Helper()
	var r *v1alpha1.MulticlusterApplicationSetReport
	NewWithT(t).Eventually(func(g Gomega) {
		r = s.report(t)
		g.Expect(r).NotTo(BeNil(), "no report")
		check(g, r)
		for _, c := range r.Status.Conditions {
			g.Expect(c.ObservedGeneration).To(Equal(r.Generation), "kubectl wait would not believe condition %s", c.Type)
		}
	}, soon, tick).Should(Succeed())
	return r
}

// expectNone waits until the ApplicationSet has no report.
func (s appSet) expectNone(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() *v1alpha1.MulticlusterApplicationSetReport { return s.report(t) }, soon, tick).Should(BeNil())
}

// healths checks that the rows of a report have the wanted health statuses, in sorted order.
func healths(want ...string) func(Gomega, *v1alpha1.MulticlusterApplicationSetReport) {
	return func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		var got []string
		for _, row := range r.Statuses.ClusterConditions {
			got = append(got, row.HealthStatus)
		}
		slices.Sort(got)
		g.Expect(got).To(Equal(want))
	}
}

// sendable checks the health statuses, and that no row has a propagation error. The hub's cache may show a new
// Application before the ManagedCluster and its ManagedClusterSets.
func sendable(want ...string) func(Gomega, *v1alpha1.MulticlusterApplicationSetReport) {
	return func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		healths(want...)(g, r)
		for _, row := range r.Statuses.ClusterConditions {
			g.Expect(row.Conditions).NotTo(ContainElement(HaveField("Type",
				BeElementOf(apis.ConditionPropagationError, apis.ConditionPropagationForbiddenError))))
		}
	}
}

// rowOf returns the Application's row.
func rowOf(r *v1alpha1.MulticlusterApplicationSetReport, app *argocd.Application) v1alpha1.ClusterCondition {
	for _, row := range r.Statuses.ClusterConditions {
		if row.App == reports.App(app) {
			return row
		}
	}
	return v1alpha1.ClusterCondition{}
}

// availability sets the condition Available of the ManagedCluster, as OCM's registration controller would.
func availability(t *testing.T, c *clusterv1.ManagedCluster, status metav1.ConditionStatus, message string) {
	t.Helper()
	before := c.DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "Test", Message: message,
	})
	if err := k8s.Status().Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// TestAggregationOfThreeClusters is the original example of the report.
func TestAggregationOfThreeClusters(t *testing.T) {
	start(t)
	set := applicationSet(t)
	red, first, second := set.application(cluster(t), "a").Obj(), set.application(cluster(t), "b").Obj(), set.application(cluster(t), "c").Obj()
	for _, app := range []*argocd.Application{red, first, second} {
		create(t, app)
	}
	report(t, red, feedbackOf(red).String("healthStatus", "Missing").String("syncStatus", "OutOfSync").String("conditionSyncError", forbidden))
	report(t, first, feedbackOf(first).String("healthStatus", "Progressing").String("syncStatus", "Synced"))
	report(t, second, feedbackOf(second).String("healthStatus", "Progressing").String("syncStatus", "Synced"))

	got := set.expect(t, sendable("Missing", "Progressing", "Progressing"))
	row := func(app *argocd.Application, health, sync string, conditions ...v1alpha1.Condition) v1alpha1.ClusterCondition {
		return v1alpha1.ClusterCondition{
			Cluster: app.Cluster(), App: set.Namespace + "/" + app.Name + "/" + app.Cluster() + "/" + work.Name(app),
			HealthStatus: health, SyncStatus: sync, Conditions: conditions, Source: "feedback",
		}
	}
	want := v1alpha1.ReportStatuses{
		Summary: v1alpha1.ReportSummary{
			Clusters: "3", Applications: "3", Synced: "2", NotSynced: "1", Healthy: "0", NotHealthy: "3", InProgress: "2",
			Unreachable: "0", NotCompared: "0", Omitted: "0", OmittedResources: "0",
		},
		ClusterConditions: []v1alpha1.ClusterCondition{
			row(red, "Missing", "OutOfSync", v1alpha1.Condition{Type: "SyncError", Message: forbidden}),
			row(first, "Progressing", "Synced"),
			row(second, "Progressing", "Synced"),
		},
	}
	if diff := cmp.Diff(served(want), got.Statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Labels[apis.LabelHostingApplicationSet] != set.Namespace+".guestbook" {
		t.Errorf("labels %v", got.Labels)
	}
	owner := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set.Name, UID: set.uid}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, got.OwnerReferences); diff != "" {
		t.Errorf("the garbage collector would not find the report's ApplicationSet:\n%s", diff)
	}

	for _, app := range []*argocd.Application{red, first, second} {
		report(t, app, feedbackOf(app).Healthy("53e28ff"))
	}
	green := set.expect(t, sendable("Healthy", "Healthy", "Healthy"))
	if !*publishedCRDs && !meta.IsStatusConditionTrue(green.Status.Conditions, apis.ConditionReady) || len(rowOf(green, red).Conditions) > 0 {
		t.Errorf("the report has not turned green: %+v", green)
	}
	about := &argocd.Application{}
	about.Namespace, about.Name = set.Namespace, set.Name
	NewWithT(t).Eventually(func() []string { return eventReasons(t, about) }, soon, tick).Should(ContainElement(apis.ReasonAllHealthy))
}

// served returns the fields of a report that the API server keeps.
func served(statuses v1alpha1.ReportStatuses) v1alpha1.ReportStatuses {
	if !*publishedCRDs {
		return statuses
	}
	return reports.Published(&v1alpha1.MulticlusterApplicationSetReport{Statuses: statuses}).Statuses
}

func TestAggregationOfTwoApplicationsOnOneCluster(t *testing.T) {
	start(t)
	set, c := applicationSet(t), cluster(t)
	web, db := set.application(c, "web").Obj(), set.application(c, "db").Obj()
	create(t, web)
	create(t, db)
	report(t, web, feedbackOf(web).Healthy("a"))
	report(t, db, feedbackOf(db).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
	got := set.expect(t, healths("Degraded", "Healthy"))
	want := served(v1alpha1.ReportStatuses{Summary: v1alpha1.ReportSummary{Applications: "2"}}).Summary.Applications
	if s := got.Statuses.Summary; s.Clusters != "1" || s.Applications != want || s.Synced != "2" || s.Healthy != "1" || s.NotHealthy != "1" {
		t.Errorf("got %+v", s)
	}
}

// TestAggregationOfOneChange: a change on a cluster causes one write of one report, and one write of the Application.
func TestAggregationOfOneChange(t *testing.T) {
	towline := start(t)
	set := applicationSet(t)
	var apps []*argocd.Application
	for _, name := range []string{"a", "b", "c"} {
		app := set.application(cluster(t), name).Obj()
		create(t, app)
		report(t, app, feedbackOf(app).Healthy("a"))
		apps = append(apps, app)
	}
	set.expect(t, healths("Healthy", "Healthy", "Healthy"))
	for _, app := range apps {
		expectHealth(t, app, "Healthy")
	}
	for _, app := range apps {
		expectSettled(t, app)
	}
	towline.countAnew(t)
	towline.writes.takeReports(http.MethodPut, set.Namespace)
	towline.writes.takeReports(http.MethodGet, set.Namespace)

	for _, health := range []string{"Progressing", "Suspended", "Missing"} {
		report(t, apps[1], feedbackOf(apps[1]).String("healthStatus", health).String("syncStatus", "Synced"))
		want := []string{"Healthy", "Healthy", health}
		slices.Sort(want)
		set.expect(t, healths(want...))
		expectHealth(t, apps[1], health)
	}
	made := towline.made(t)
	if got := towline.writes.takeReports(http.MethodPut, set.Namespace); len(got) != 3 {
		t.Errorf("three changes took the report writes %q", got)
	}
	if got := towline.writes.takeReports(http.MethodGet, set.Namespace); len(got) != 0 {
		t.Errorf("three changes took the report reads %q", got)
	}
	if len(made) != 3 {
		t.Errorf("three changes took the other writes %q", made)
	}
}

func TestAggregationOfAnUnreachableCluster(t *testing.T) {
	start(t)
	set, c := applicationSet(t), cluster(t)
	app, other := set.application(c, "a").Obj(), set.application(cluster(t), "b").Obj()
	for _, a := range []*argocd.Application{app, other} {
		create(t, a)
		report(t, a, feedbackOf(a).Healthy("a"))
	}
	set.expect(t, sendable("Healthy", "Healthy"))

	availability(t, c, metav1.ConditionUnknown, "Registration agent stopped updating its lease.")
	got := set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Unreachable).To(Equal(served(v1alpha1.ReportStatuses{
			Summary: v1alpha1.ReportSummary{Unreachable: "1"}}).Summary.Unreachable))
		g.Expect(rowOf(r, app).Conditions).NotTo(BeEmpty())
	})
	row := rowOf(got, app)
	lost := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable).LastTransitionTime
	since := lost.UTC().Format("2006-01-02T15:04:05Z")
	if len(row.Conditions) != 1 || row.Conditions[0].Type != apis.ConditionClusterUnreachable || !strings.Contains(row.Conditions[0].Message, since) {
		t.Errorf("got %+v, want since when (%s)", row, since)
	}
	if row.HealthStatus != "Healthy" || got.Statuses.Summary.Healthy != "2" {
		t.Errorf("the last known values are gone: %+v", got.Statuses)
	}
	if c := meta.FindStatusCondition(got.Status.Conditions, apis.ConditionReady); !*publishedCRDs && c.Reason != apis.ReasonClustersUnreachable {
		t.Errorf("Ready is %+v", c)
	}

	availability(t, c, metav1.ConditionTrue, "")
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Unreachable).NotTo(Equal("1"))
		g.Expect(rowOf(r, app).Conditions).To(BeEmpty())
	})
}

func TestAggregationOfAnApplicationThatCannotBeSent(t *testing.T) {
	start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").NoAnnotation(apis.AnnotationSkipReconcile).Obj()
	create(t, app)
	got := set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).NotTo(BeEmpty())
	})
	c := rowOf(got, app).Conditions[0]
	if c.Type != apis.ConditionPropagationError || !strings.Contains(c.Message, apis.AnnotationSkipReconcile) {
		t.Errorf("got %+v", c)
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationSkipReconcile] = "true" })
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).To(BeEmpty())
	})
	report(t, app, feedbackOf(app).Condition(workv1.WorkApplied, metav1.ConditionFalse, "applications.argoproj.io is forbidden"))
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).To(ContainElement(HaveField("Type", apis.ConditionWorkApplyError)))
	})
}

func TestAggregationAfterARestart(t *testing.T) {
	first := start(t)
	set := applicationSet(t)
	app, other := set.application(cluster(t), "a").Obj(), set.application(cluster(t), "b").Obj()
	for _, a := range []*argocd.Application{app, other} {
		create(t, a)
		report(t, a, feedbackOf(a).Healthy("a").String("conditionOrphanedResourceWarning", "x"))
		expectHealth(t, a, "Healthy")
	}
	before := set.expect(t, sendable("Healthy", "Healthy"))
	first.stop()

	t.Run("writes nothing", func(t *testing.T) {
		second := start(t)
		defer second.stop()
		// Towline compares a report directly after the read. All resulting writes are done when all controllers are
		// idle.
		NewWithT(t).Eventually(func() []string { return second.writes.takeReports(http.MethodGet, set.Namespace) }, soon, tick).ShouldNot(BeEmpty())
		expectIdle(t)
		if got := second.writes.takeReports(http.MethodPut, set.Namespace); len(got) > 0 {
			t.Errorf("a restart took the writes %q", got)
		}
		report(t, other, feedbackOf(other).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
		set.expect(t, healths("Degraded", "Healthy"))
		report(t, other, feedbackOf(other).Healthy("a").String("conditionOrphanedResourceWarning", "x"))
		after := set.expect(t, sendable("Healthy", "Healthy"))
		if diff := cmp.Diff(before.Statuses, after.Statuses); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
	t.Run("keeps what no source has told of since", func(t *testing.T) {
		editStatus(t, expectWork(t, app), func(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} })
		start(t)
		report(t, other, feedbackOf(other).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
		after := set.expect(t, healths("Degraded", "Healthy"))
		if diff := cmp.Diff(rowOf(before, app), rowOf(after, app)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

func TestAggregationGoesWithTheLastApplication(t *testing.T) {
	towline := start(t)
	set := applicationSet(t)
	one, two := set.application(cluster(t), "a").Obj(), set.application(cluster(t), "b").Obj()
	create(t, one)
	create(t, two)
	set.expect(t, healths("", ""))
	remove(t, one)
	set.expect(t, healths(""))
	edit(t, two, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	set.expectNone(t)

	edit(t, two, func(a *argocd.Application) { a.Labels = map[string]string{apis.LabelPull: "true"} })
	set.expect(t, healths(""))
	towline.stop()
	remove(t, two)
	start(t)
	set.expectNone(t)
}

// TestAggregationOfAReportThatIsDeletedMeanwhile: Towline creates the report again, without an error.
func TestAggregationOfAReportThatIsDeletedMeanwhile(t *testing.T) {
	towline := start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	before := set.expect(t, healths(""))
	towline.writes.race(func(method, path string) {
		if method == http.MethodPut && strings.HasSuffix(path, "/multiclusterapplicationsetreports/"+before.Name) {
			if err := k8s.Delete(t.Context(), before.DeepCopy()); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
	create(t, set.application(cluster(t), "b").Obj())
	NewWithT(t).Eventually(func() bool {
		now := get(t, before.DeepCopy())
		return now != nil && now.UID != before.UID
	}, soon, tick).Should(BeTrue())
	towline.writes.race(nil)
	set.expect(t, healths("", ""))
	if got := failuresIn(app.Namespace); len(got) > 0 {
		t.Errorf("it counts as a failure: %s", got)
	}
}

// TestAggregationOfAnApplicationThatChangesSets: Towline updates the reports of both ApplicationSets.
func TestAggregationOfAnApplicationThatChangesSets(t *testing.T) {
	start(t)
	set := applicationSet(t)
	other := applicationSetNamed(t, set.Namespace, strings.Repeat("long.", 50)+"x")
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	set.expect(t, healths(""))
	edit(t, app, func(a *argocd.Application) {
		a.OwnerReferences[0].Name, a.OwnerReferences[0].UID = other.Name, other.uid
	})
	set.expectNone(t)
	got := other.expect(t, healths(""))
	if got.OwnerReferences[0].UID != other.uid || got.Labels[apis.LabelHostingApplicationSet] != reports.LabelValue(other.ObjectKey) {
		t.Errorf("got %+v", got.ObjectMeta)
	}
}

func TestAggregationRepairsForeignWrites(t *testing.T) {
	start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	good := set.expect(t, sendable("Healthy"))
	for title, tamper := range map[string]func(*v1alpha1.MulticlusterApplicationSetReport){
		"rows": func(r *v1alpha1.MulticlusterApplicationSetReport) {
			r.Statuses.ClusterConditions[0].HealthStatus = "Degraded"
		},
		"resources": func(r *v1alpha1.MulticlusterApplicationSetReport) {
			r.Statuses.Resources = []v1alpha1.ReportedResource{{ResourceRef: v1alpha1.ResourceRef{Kind: "Pod"}}}
		},
		"marks":      func(r *v1alpha1.MulticlusterApplicationSetReport) { r.Labels, r.OwnerReferences = nil, nil },
		"conditions": func(r *v1alpha1.MulticlusterApplicationSetReport) { r.Status.Conditions = nil },
	} {
		t.Run(title, func(t *testing.T) {
			if *publishedCRDs && title == "conditions" {
				t.Skip("it has none")
			}
			r := set.report(t)
			edit(t, r, tamper)
			set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
				g.Expect(reports.Equal(r, good)).To(BeTrue())
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		r := set.report(t)
		if err := k8s.Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		set.expect(t, func(g Gomega, now *v1alpha1.MulticlusterApplicationSetReport) { g.Expect(now.UID).NotTo(Equal(r.UID)) })
	})
}

// TestAggregationTakesOver: Towline takes over the report of an older controller. A report without the label of reports
// stays, even if its ApplicationSet has no Applications.
func TestAggregationTakesOver(t *testing.T) {
	set, foreign := applicationSet(t), applicationSet(t)
	old := &v1alpha1.MulticlusterApplicationSetReport{}
	old.Namespace, old.Name = set.Namespace, set.Name
	old.Labels = map[string]string{apis.LabelHostingApplicationSet: "x", "team": "a"}
	old.Statuses.ClusterConditions = []v1alpha1.ClusterCondition{{Cluster: "gone", HealthStatus: "Degraded"}}
	old.Statuses.Resources = []v1alpha1.ReportedResource{{ResourceRef: v1alpha1.ResourceRef{APIVersion: "v1", Kind: "Service", Name: "gone"}}}
	create(t, old)
	stray := &v1alpha1.MulticlusterApplicationSetReport{}
	stray.Namespace, stray.Name = foreign.Namespace, foreign.Name
	create(t, stray)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	start(t)
	report(t, app, feedbackOf(app).Healthy("a"))
	got := set.expect(t, healths("Healthy"))
	if got.UID != old.UID || got.Labels["team"] != "a" || len(got.Statuses.Resources) > 0 || rowOf(got, app).Cluster != app.Cluster() {
		t.Errorf("got %+v", got)
	}
	if foreign.report(t) == nil {
		t.Error("a report of others was deleted")
	}
}

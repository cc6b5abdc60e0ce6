package envtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestStatus(t *testing.T) {
	for title, set := range map[string]bool{"of an ApplicationSet": true, "standalone": false} {
		t.Run(title, func(t *testing.T) {
			towline := start(t)
			b := application(t, cluster(t))
			if set {
				b.ApplicationSet("set")
			}
			app := b.Obj()
			create(t, app)
			expectWork(t, app)
			settled(t)
			towline.countAnew(t)

			report(t, app, feedbackOf(app).String("healthStatus", "Progressing").String("syncStatus", "OutOfSync").Compared(""))
			expectHealth(t, app, "Progressing")
			report(t, app, feedbackOf(app).Healthy("53e28ff").Compared("2026-01-02T03:04:07Z"))
			expectHealth(t, app, "Healthy")
			want := argocd.Status{
				Health: argocd.Health{Status: "Healthy"},
				Sync:   &argocd.Sync{Status: "Synced", Revision: "53e28ff"},
				OperationState: &argocd.OperationState{
					Phase: "Succeeded", Message: "successfully synced (all tasks run)",
					StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:07Z",
					SyncResult: &argocd.SyncResult{Revision: "53e28ff"},
					Operation:  argocd.Operation{Sync: argocd.SyncOperation{Revision: "53e28ff"}},
				},
				ReconciledAt: "2026-01-02T03:04:07Z",
			}
			if diff := cmp.Diff(want, get(t, app).Status, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			expectSettled(t, app)
			got := towline.made(t)
			works := slices.DeleteFunc(slices.Clone(got), func(w string) bool { return !strings.Contains(w, "/manifestworks/") })
			if len(got) != 2 || len(works) != 0 {
				t.Errorf("two changes, and the first comparison, took the writes %q", got)
			}
		})
	}
}

func TestStatusOfANewOperation(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	report(t, app, feedbackOf(app).String("healthStatus", "Progressing").String("syncStatus", "OutOfSync").
		String("operationStatePhase", "Running").String("operationStateStartedAt", "2026-01-02T04:00:00Z"))
	expectHealth(t, app, "Progressing")
	want := &argocd.OperationState{Phase: "Running", StartedAt: "2026-01-02T04:00:00Z"}
	if diff := cmp.Diff(want, get(t, app).Status.OperationState); diff != "" {
		t.Errorf("what the last operation left is mixed into the new one (-want +got):\n%s", diff)
	}
}

func TestStatusShowsTheClustersConditionsAndDropsThemAgain(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).String("syncStatus", "OutOfSync").String("healthStatus", "Missing").
		String("conditionSyncError", "services is forbidden"))
	g := NewWithT(t)
	g.Eventually(func() string { m, _ := condition(t, app, "SyncError"); return m }, soon, tick).Should(Equal("services is forbidden"))
	since := get(t, app).Status.Conditions[0].LastTransitionTime

	report(t, app, feedbackOf(app).String("syncStatus", "OutOfSync").String("healthStatus", "Degraded").
		String("conditionSyncError", "services is forbidden"))
	expectHealth(t, app, "Degraded")
	if got := get(t, app).Status.Conditions[0].LastTransitionTime; !got.Equal(since) {
		t.Error("a condition that did not change has a new time")
	}

	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	g.Eventually(func() []argocd.Condition { return get(t, app).Status.Conditions }, soon, tick).Should(BeEmpty())
}

func TestStatusShowsTheWorkAgentsTroubles(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	g := NewWithT(t)
	report(t, app, feedbackOf(app).Condition(workv1.WorkApplied, metav1.ConditionFalse, "applications.argoproj.io is forbidden\x1b[2J"))
	g.Eventually(func() string { m, _ := condition(t, app, apis.ConditionWorkApplyError); return m }, soon, tick).
		Should(And(ContainSubstring(app.Cluster()), ContainSubstring("applications.argoproj.io is forbidden"), Not(ContainSubstring("\x1b"))))

	report(t, app, feedbackOf(app).Condition(workv1.WorkAvailable, metav1.ConditionFalse, "not found"))
	g.Eventually(func() bool { _, there := condition(t, app, apis.ConditionWorkAvailableWarning); return there }, soon, tick).Should(BeTrue())
	g.Eventually(func() bool { _, there := condition(t, app, apis.ConditionWorkApplyError); return there }, soon, tick).Should(BeFalse())

	// For a work without a request, the message is a normal problem.
	report(t, app, feedbackOf(app).Condition(workv1.WorkApplied, metav1.ConditionFalse, modified))
	g.Eventually(func() string { m, _ := condition(t, app, apis.ConditionWorkApplyError); return m }, soon, tick).
		Should(ContainSubstring("has been modified"))

	report(t, app, feedbackOf(app).Healthy("a"))
	g.Eventually(func() []argocd.Condition { return get(t, app).Status.Conditions }, soon, tick).Should(BeEmpty())
}

// TestStatusOfARequestThatIsMadeAgain: Towline makes each request for one version of the Application, and repeats the
// request for a newer version. A version conflict is no problem for the user.
func TestStatusOfARequestThatIsMadeAgain(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	requested := workOf(t, app).Generation
	refused(t, app, "Failed to apply manifest: etcdserver: request timed out")
	g := NewWithT(t)
	shown := func() bool { _, there := condition(t, app, apis.ConditionWorkApplyError); return there }
	g.Eventually(shown, soon, tick).Should(BeTrue())
	expectApplication(t, app) // the agent has not answered the new generation
	refusedAt(t, app, requested, modified)
	g.Eventually(shown, soon, tick).Should(BeFalse())
}

// TestStatusOfAnUnreachableCluster: each Application of the cluster shows the outage with a single write, keeps its
// last known status, and loses the condition automatically after the outage.
func TestStatusOfAnUnreachableCluster(t *testing.T) {
	towline := start(t)
	c := cluster(t)
	var apps []*argocd.Application
	for range 3 {
		app := application(t, c).Obj()
		create(t, app)
		report(t, app, feedbackOf(app).Healthy("a").String("conditionOrphanedResourceWarning", "x"))
		expectHealth(t, app, "Healthy")
		apps = append(apps, app)
	}
	elsewhere := application(t, cluster(t)).Obj()
	create(t, elsewhere)
	report(t, elsewhere, feedbackOf(elsewhere).Healthy("a"))
	expectHealth(t, elsewhere, "Healthy")
	for _, app := range apps {
		expectSettled(t, app)
	}
	towline.countAnew(t)
	before := get(t, apps[0].DeepCopy()).Status

	availability(t, c, metav1.ConditionUnknown, "Registration agent stopped updating its lease.")
	lost := meta.FindStatusCondition(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable).LastTransitionTime
	g := NewWithT(t)
	for _, app := range apps {
		g.Eventually(func() string { m, _ := condition(t, app, apis.ConditionClusterUnreachableWarning); return m }, soon, tick).
			Should(And(ContainSubstring(lost.UTC().Format("2006-01-02T15:04:05Z")), ContainSubstring("stopped updating its lease")))
	}
	got := get(t, apps[0].DeepCopy()).Status
	if marked := got.Conditions[len(got.Conditions)-1]; !marked.LastTransitionTime.Equal(&lost) {
		t.Errorf("since %v, want %v", marked.LastTransitionTime, lost)
	}
	got.Conditions = got.Conditions[:len(got.Conditions)-1]
	if diff := cmp.Diff(before, got); diff != "" {
		t.Errorf("what was known is not kept (-before +after):\n%s", diff)
	}
	if _, there := condition(t, elsewhere, apis.ConditionClusterUnreachableWarning); there {
		t.Error("an Application of another cluster is marked")
	}

	availability(t, c, metav1.ConditionTrue, "")
	for _, app := range apps {
		g.Eventually(func() []argocd.Condition { return get(t, app).Status.Conditions }, soon, tick).Should(HaveLen(1))
	}
	if got := towline.made(t); len(got) != 2*len(apps) {
		t.Errorf("an outage of %d Applications took the writes %q", len(apps), got)
	}
}

// TestStatusBesideAClusterThatToggles: the conditions for one cluster do not wait for a second cluster that changes its
// availability endlessly.
func TestStatusBesideAClusterThatToggles(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Status} })
	noisy, quiet := cluster(t), cluster(t)
	ns := namespace(t, unique("apps"))
	for range 50 {
		create(t, fixture.Application(unique("app")).Namespace(ns).Cluster(noisy.Name).Obj())
	}
	app := application(t, quiet).Obj()
	create(t, app)
	toggle := func(n int) {
		availability(t, noisy, []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue}[n%2], "")
	}
	for n := range 400 { // 20,000 writes if each toggle caused all its writes: more than fit into soon
		toggle(n)
	}
	availability(t, quiet, metav1.ConditionUnknown, "Registration agent stopped updating its lease.")
	n := 0
	NewWithT(t).Eventually(func() bool {
		toggle(n)
		n++
		_, there := condition(t, app, apis.ConditionClusterUnreachableWarning)
		return there
	}, soon, tick).Should(BeTrue(), "it waits for the other cluster's")
}

// TestStatusWhenAClustersMessageChanges: only a change of the availability, or of its time, makes Towline check all
// Applications of a cluster.
func TestStatusWhenAClustersMessageChanges(t *testing.T) {
	towline := start(t)
	c := cluster(t)
	app := application(t, c).Obj()
	create(t, app)
	expectWork(t, app)
	availability(t, c, metav1.ConditionFalse, "first")
	message := func() string { m, _ := condition(t, app, apis.ConditionClusterUnreachableWarning); return m }
	NewWithT(t).Eventually(message, soon, tick).Should(ContainSubstring("first"))
	towline.countAnew(t)
	for i := range 20 {
		availability(t, c, metav1.ConditionFalse, fmt.Sprint("message ", i))
	}
	if of := slices.DeleteFunc(towline.made(t), func(w string) bool { return !strings.Contains(w, "/"+app.Namespace+"/") }); len(of) > 0 {
		t.Errorf("a text took the writes %q", of)
	}
	availability(t, c, metav1.ConditionTrue, "")
	NewWithT(t).Eventually(message, soon, tick).Should(BeEmpty())
}

func TestStatusOfAClusterThatIsDeleted(t *testing.T) {
	start(t)
	c := cluster(t)
	app := application(t, c).Obj()
	create(t, app)
	expectWork(t, app)
	availability(t, c, metav1.ConditionFalse, "")
	g := NewWithT(t)
	unreachable := func() bool { _, there := condition(t, app, apis.ConditionClusterUnreachableWarning); return there }
	g.Eventually(unreachable, soon, tick).Should(BeTrue())
	if err := k8s.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	g.Eventually(unreachable, soon, tick).Should(BeFalse())
	expectProblem(t, app, apis.ReasonClusterNotFound, c.Name)
}

func TestStatusKeepsConditionsOfOthers(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectWork(t, app)
	others := argocd.Condition{Type: "SomeoneElsesWarning", Message: "keep me"}
	edit(t, app, func(a *argocd.Application) { a.Status.Conditions = append(a.Status.Conditions, others) })
	report(t, app, feedbackOf(app).Healthy("a").String("conditionSyncError", "x"))
	g := NewWithT(t)
	g.Eventually(func() bool { _, there := condition(t, app, "SyncError"); return there }, soon, tick).Should(BeTrue())
	if m, _ := condition(t, app, others.Type); m != others.Message {
		t.Errorf("got %v", get(t, app).Status.Conditions)
	}
}

// TestStatusOfAHostileCluster: a cluster that reports invalid values, and claims the Application of a different
// cluster, changes only its own Applications.
func TestStatusOfAHostileCluster(t *testing.T) {
	start(t)
	victim := application(t, cluster(t)).Obj()
	create(t, victim)
	report(t, victim, feedbackOf(victim).Healthy("good").Compared("2026-01-02T03:04:07Z"))
	expectHealth(t, victim, "Healthy")
	before := get(t, victim.DeepCopy())

	hostile := application(t, cluster(t)).Obj()
	create(t, hostile)
	w := expectWork(t, hostile)
	edit(t, w, func(w *workv1.ManifestWork) {
		w.Annotations[apis.AnnotationHubNamespace], w.Annotations[apis.AnnotationHubName] = victim.Namespace, victim.Name
	})
	report(t, hostile, feedbackOf(hostile).String("healthStatus", "Degraded").
		String("operationStatePhase", "Failed").String("operationStateStartedAt", "not a time").
		String("operationStateMessage", strings.Repeat("x", 1<<18)).
		Value("syncStatus", workv1.FieldValue{Type: workv1.Integer, Integer: ptr.To(int64(7))}))
	expectHealth(t, hostile, "Degraded")
	if s := get(t, hostile).Status; s.Sync != nil || s.OperationState != nil {
		t.Errorf("values that do not fit were written: %+v", s)
	}

	// A work from the hostile cluster, with the victim's identity in its metadata and content.
	forged := w.DeepCopy()
	forged.ObjectMeta = metav1.ObjectMeta{Namespace: w.Namespace, Name: "forged", Labels: w.Labels, Annotations: w.Annotations}
	create(t, forged)
	forgedBefore := forged.DeepCopy()
	forged.Status = feedbackOf(victim).String("healthStatus", "Missing").Obj()
	// Towline removes the forged work from the hostile cluster's namespace like any work without an Application,
	// possibly before the status write.
	if err := k8s.Status().Patch(t.Context(), forged, client.MergeFrom(forgedBefore)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	report(t, hostile, feedbackOf(hostile).String("healthStatus", "Suspended"))
	expectHealth(t, hostile, "Suspended")
	if diff := cmp.Diff(before, get(t, victim.DeepCopy())); diff != "" {
		t.Errorf("another cluster changed the victim:\n%s", diff)
	}
}

// TestStatusIsArgoCDsWithoutSkipReconcile: without skip-reconcile, the hub's own Argo CD writes the status, and a
// second writer would conflict.
func TestStatusIsArgoCDsWithoutSkipReconcile(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) })
	expectProblem(t, app, apis.ReasonSkipReconcileMissing, "")
	edit(t, app, func(a *argocd.Application) { a.Status.Health.Status = "Missing" })
	second := application(t, cluster(t)).Obj()
	create(t, second)
	report(t, second, feedbackOf(second).Healthy("a"))
	expectHealth(t, second, "Healthy")
	if got := get(t, app).Status.Health.Status; got != "Missing" {
		t.Errorf("what the hub's Argo CD wrote was overwritten with %s", got)
	}
}

func TestStatusThatSomeoneWroteOverIsPutRight(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	edit(t, app, func(a *argocd.Application) { a.Status.Health.Status = "Missing" })
	expectHealth(t, app, "Healthy")
}

package envtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// expectAwaited waits until the Application's work asks for the fields that change with every comparison.
func expectAwaited(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() bool { w := workOf(t, app); return w != nil && work.TellsVolatile(w) }, soon, tick).
		Should(BeTrue(), "nobody waits for anything")
}

// expectAnswered waits until the agent has applied the present generation of the Application's work, and returns the
// work.
func expectAnswered(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func() bool {
		w = workOf(t, app)
		return !slices.ContainsFunc(w.Status.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration != w.Generation })
	}, soon, tick).Should(BeTrue(), "its agent has not answered")
	return w
}

// reconciledAt waits until the hub shows a comparison at the time.
func reconciledAt(t *testing.T, app *argocd.Application, at string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return get(t, app).Status.ReconciledAt }, soon, tick).Should(Equal(at))
}

// finishedAt waits until the hub shows the end of the last operation at the time.
func finishedAt(t *testing.T, app *argocd.Application, at string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		if s := get(t, app).Status.OperationState; s != nil {
			return s.FinishedAt
		}
		return ""
	}, soon, tick).Should(Equal(at))
}

// compared returns a report with a comparison at the time and no changes.
func compared(app *argocd.Application, version, at string) *fixture.FeedbackBuilder {
	return feedbackOf(app).Healthy("a").String("resourceVersion", version).String("reconciledAt", at)
}

// TestAnApplicationAtRest: Argo CD compares the Application every few minutes, and changes only the time and the
// version. Neither the agent nor the hub writes anything.
func TestAnApplicationAtRest(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
	reconciledAt(t, app, "2026-01-02T03:04:08Z")
	expectSettled(t, app)
	towline.countAnew(t)
	w, here := expectAnswered(t, app), get(t, app.DeepCopy())
	for version, at := range map[string]string{"2": "2026-01-02T03:10:08Z", "3": "2026-01-02T03:16:08Z"} {
		report(t, app, compared(app, version, at))
	}
	settled(t)
	if got := workOf(t, app); got.ResourceVersion != w.ResourceVersion {
		t.Errorf("its agent has reported %+v", got.Status.ResourceStatus)
	}
	if got := get(t, app.DeepCopy()); got.ResourceVersion != here.ResourceVersion {
		t.Errorf("the hub has written %+v", got.Status)
	}
	for _, made := range towline.made(t) {
		if strings.Contains(made, "/"+app.Namespace+"/") || strings.Contains(made, "/"+app.Cluster()+"/") {
			t.Errorf("%s", made)
		}
	}
}

// TestComparisonsToldByACondition: if a condition reports the comparisons, Towline does not write the work for them.
// The test covers the first comparison, and the comparison after a sync by the cluster itself.
func TestComparisonsToldByACondition(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).String("healthStatus", "Missing").String("syncStatus", "OutOfSync").Compared("2026-01-02T03:00:00Z"))
	reconciledAt(t, app, "2026-01-02T03:00:00Z")
	for _, sync := range []struct{ starts, ends string }{
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:07Z"},
		{"2026-01-02T03:08:05Z", "2026-01-02T03:08:07Z"},
	} {
		at := func(phase string) *fixture.FeedbackBuilder {
			return operationReport(app, phase, "").String("operationStateStartedAt", sync.starts).String("operationStateFinishedAt", sync.ends)
		}
		report(t, app, operationReport(app, "Running", "").String("operationStateStartedAt", sync.starts).Compared(""))
		report(t, app, at("Succeeded").Compared(""))
		finishedAt(t, app, sync.ends)
		if got := get(t, app).Status.ReconciledAt; got >= sync.ends {
			t.Errorf("the hub shows a comparison at %q, before the cluster has told of one", got)
		}
		report(t, app, at("Succeeded").Compared(sync.ends))
		reconciledAt(t, app, sync.ends)
	}
	settled(t)
	of := slices.DeleteFunc(towline.made(t), func(w string) bool {
		return !strings.HasPrefix(w, "PATCH") || !strings.Contains(w, "/"+app.Cluster()+"/")
	})
	if len(of) != 0 {
		t.Errorf("it took the writes %q of its work", of)
	}
}

// TestTheFirstComparison: the hub shows the first comparison, and then stops asking for comparisons, also on the next
// cluster of a move. The agent of the test reports no comparisons by a condition.
func TestTheFirstComparison(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).String("healthStatus", "Missing").String("syncStatus", "OutOfSync"))
	expectHealth(t, app, "Missing")
	settled(t)
	expectAwaited(t, app)
	report(t, app, compared(app, "2", "2026-01-02T03:04:08Z"))
	reconciledAt(t, app, "2026-01-02T03:04:08Z")
	expectSettled(t, app)

	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = cluster(t).Name })
	expectAwaited(t, app)
	report(t, app, compared(app, "2", "2026-01-02T02:00:08Z").String("operationStateStartedAt", "2026-01-02T02:00:05Z").
		String("operationStateFinishedAt", "2026-01-02T02:00:07Z")) // by the clock of the new cluster
	reconciledAt(t, app, "2026-01-02T02:00:08Z")
	expectSettled(t, app)
}

// TestTheFirstComparisonThatCallsForASync: the cluster is about to begin a sync, and Towline waits for the sync.
func TestTheFirstComparisonThatCallsForASync(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).String("healthStatus", "Missing").String("syncStatus", "OutOfSync").
		String("reconciledAt", "2026-01-02T03:04:01Z").Boolean("operationStarting", true))
	reconciledAt(t, app, "2026-01-02T03:04:01Z")
	settled(t)
	expectAwaited(t, app)
	report(t, app, operationReport(app, "Running", "").String("reconciledAt", "2026-01-02T03:04:01Z"))
	NewWithT(t).Eventually(func() *argocd.OperationState { return get(t, app).Status.OperationState }, soon, tick).ShouldNot(BeNil())
	settled(t)
	expectAwaited(t, app)
	report(t, app, compared(app, "5", "2026-01-02T03:04:08Z"))
	reconciledAt(t, app, "2026-01-02T03:04:08Z")
	expectSettled(t, app)
	of := slices.DeleteFunc(towline.made(t), func(w string) bool {
		return !strings.HasPrefix(w, "PATCH") || !strings.Contains(w, "/"+app.Cluster()+"/")
	})
	if len(of) != 2 {
		t.Errorf("it took the writes %q of its work", of)
	}
}

// TestTheComparisonAfterASync: the hub's CLI, notifications and RollingSync wait for a comparison after the end of the
// sync, regardless of the sync's origin.
func TestTheComparisonAfterASync(t *testing.T) {
	start(t)
	for title, dry := range map[string]bool{"a sync": false, "a dry run": true} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Obj()
			create(t, app)
			report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
			reconciledAt(t, app, "2026-01-02T03:04:08Z")
			expectSettled(t, app)

			later := func() *fixture.FeedbackBuilder {
				return compared(app, "7", "2026-01-02T03:10:08Z").Boolean("operationStateDryRun", dry).
					String("operationStateStartedAt", "2026-01-02T04:00:01Z").String("operationStateFinishedAt", "2026-01-02T04:00:03Z")
			}
			report(t, app, later())
			finishedAt(t, app, "2026-01-02T04:00:03Z")
			if dry {
				settled(t)
				expectSettled(t, app)
				return
			}
			expectAwaited(t, app)
			reconciledAt(t, app, "2026-01-02T03:10:08Z") // before the end of the sync
			report(t, app, later().String("resourceVersion", "8").String("reconciledAt", "2026-01-02T04:00:04Z"))
			reconciledAt(t, app, "2026-01-02T04:00:04Z")
			expectSettled(t, app)
		})
	}
}

// TestTimesThatWereNotRequestedAreKept: a complete report without a time means that the work did not ask for the time.
func TestTimesThatWereNotRequestedAreKept(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
	reconciledAt(t, app, "2026-01-02T03:04:08Z")
	expectSettled(t, app)
	report(t, app, compared(app, "2", "2026-01-02T03:10:08Z").String("healthStatus", "Degraded"))
	expectHealth(t, app, "Degraded")
	if got := get(t, app).Status.ReconciledAt; got != "2026-01-02T03:04:08Z" {
		t.Errorf("the hub shows a comparison at %q", got)
	}
}

// TestTheWorkOfAnEarlierVersion: an earlier version always asks for the fields that change with every comparison.
func TestTheWorkOfAnEarlierVersion(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
	reconciledAt(t, app, "2026-01-02T03:04:08Z")
	expectSettled(t, app)
	towline.stop()
	edit(t, workOf(t, app), func(w *workv1.ManifestWork) {
		rules := &w.Spec.ManifestConfigs[0].FeedbackRules[0]
		rules.JsonPaths = append(rules.JsonPaths, workv1.JsonPath{Name: "reconciledAt", Path: ".status.reconciledAt"})
	})
	start(t)
	expectWork(t, app)
	expectSettled(t, app)
}

// TestOperationOfAnApplicationAtRest: Towline sends an operation for the current version on the cluster, and not for an
// outdated version.
func TestOperationOfAnApplicationAtRest(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
	expectSettled(t, app)
	report(t, app, compared(app, "9", "2026-01-02T03:40:08Z"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	if raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"resourceVersion":"9"`) {
		t.Errorf("it is for another version: %s", raw)
	}
}

// TestTerminationDuringTheDeletionOfAnApplicationAtRest: Towline writes the work once more to ask for the version of
// the termination.
func TestTerminationDuringTheDeletionOfAnApplicationAtRest(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	report(t, app, compared(app, "1", "2026-01-02T03:04:08Z"))
	expectSettled(t, app)
	towline.stop()
	reportHeld(t, app, operationReport(app, "Running", "").String("resourceVersion", "4"))
	remove(t, app)
	edit(t, app, func(a *argocd.Application) {
		a.Status.OperationState = &argocd.OperationState{Phase: "Terminating", StartedAt: "2026-01-02T03:04:05Z"}
	})
	start(t)
	expectTermination(t, workOf(t, app), "4")
}

// TestTheAgentReportsNoComparison: the agent add-on does not write for a comparison alone, and does not undo the hub's
// request to the work agent.
func TestTheAgentReportsNoComparison(t *testing.T) {
	towline := start(t)
	app, there := pulled(t)
	beside, besideThere := neighbour(t, app, there)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	expectReport(t, app, "Degraded")
	expectHealth(t, app, "Degraded")
	heard(t, beside, besideThere)
	uid := string(get(t, there).UID)
	same := func(at string) *fixture.FeedbackBuilder {
		return feedbackOf(app).String("uid", uid).String("healthStatus", "Degraded").String("syncStatus", "OutOfSync").String("syncRevision", "53e28ff").
			String("operationStatePhase", "Failed").String("operationStateStartedAt", "2026-01-02T03:04:05Z").
			String("operationStateFinishedAt", "2026-01-02T03:04:07Z").String("conditionSyncError", "Failed sync attempt").String("reconciledAt", at)
	}
	report(t, app, same("2026-01-02T03:04:08Z"))
	expectSettled(t, app)
	towline.countAnew(t)
	a.writes.take()
	observe(t, there, `{"reconciledAt":"2026-01-02T03:10:08Z"}`)
	reportHeld(t, app, same("2026-01-02T03:10:08Z"))
	settled(t)
	heard(t, beside, besideThere)
	others := func(made string) bool { return strings.HasSuffix(made, "/"+work.Name(beside)) }
	if got := slices.DeleteFunc(a.writes.take(), others); len(got) > 0 {
		t.Errorf("the agent wrote %q", got)
	}

	// The answer of the work agent stays, although the report of the agent add-on knows only an earlier comparison.
	reportHeld(t, app, same("2026-01-02T03:16:08Z").String("refreshRequest", refresh(t, app, "normal").ID))
	expectRefreshed(t, app, "2026-01-02T03:16:08Z")
	towline.countAnew(t)
	a.writes.take()
	observe(t, there, `{"summary":{"images":["gcr.io/guestbook:v2"]}}`)
	NewWithT(t).Eventually(func() []string { return get(t, app).Status.Summary.Images }, soon, tick).Should(ContainElement("gcr.io/guestbook:v2"))
	made := towline.made(t)
	if got := get(t, app).Status.ReconciledAt; got != "2026-01-02T03:16:08Z" {
		t.Errorf("the hub shows a comparison at %q", got)
	}
	of := slices.DeleteFunc(made, func(w string) bool {
		return !strings.Contains(w, "/"+app.Namespace+"/") && !strings.Contains(w, "/"+app.Cluster()+"/")
	})
	if len(of) != 1 {
		t.Errorf("the one change took the writes %q", of)
	}
}

// TestTheLaterOfTwoReports: without a version in either report, the later report counts. The work agent's report is
// later if the work agent has read newer data, as after the removal of the agent add-on.
func TestTheLaterOfTwoReports(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Propagation, controllers.Status} })
	app, there := pulled(t)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	expectHealth(t, app, "Degraded")
	a.stop()
	uid := string(get(t, there).UID)
	older := feedbackOf(app).String("uid", uid).String("healthStatus", "Healthy").String("syncStatus", "Synced").
		String("reconciledAt", "2026-01-02T03:04:08Z")
	report(t, app, older)
	expectSettled(t, app)
	settled(t)
	expectHealth(t, app, "Degraded")
	report(t, app, older.ReadAt(reportOn(t, app).CreationTimestamp.Add(time.Hour)))
	expectHealth(t, app, "Healthy")
	if got := len(get(t, app).Status.Resources); got != 2 {
		t.Errorf("%d resources are left of what only the add-on knows", got)
	}
}

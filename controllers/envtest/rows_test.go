package envtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/agent"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// agentReport writes the status into a report as the agent of the Application's cluster would.
func agentReport(t *testing.T, app *argocd.Application, status string) {
	t.Helper()
	expectWork(t, app)
	key := work.Key(app)
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	now := get(t, r)
	if now != nil {
		r = now
	}
	r.Application = v1alpha1.ReportedApplication{Namespace: app.ClusterNamespace(), Name: app.Name, ResourceVersion: fmt.Sprint(number.Add(1))}
	r.ObservedAt, r.Status = "2026-01-02T03:04:09Z", statusOf(t, status)
	if now == nil {
		create(t, r)
		return
	}
	if err := k8s.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// expectMessage waits until a condition of the Application has the message. Empty: until the condition is absent.
func expectMessage(t *testing.T, app *argocd.Application, conditionType, says string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		message, _ := condition(t, app, conditionType)
		return message
	}, soon, tick).Should(Equal(says), conditionType)
}

// rowSays checks that the Application's row has exactly the conditions, as "type: message".
func rowSays(app *argocd.Application, want ...string) func(Gomega, *v1alpha1.MulticlusterApplicationSetReport) {
	return func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		var got []string
		for _, c := range rowOf(r, app).Conditions {
			got = append(got, c.Type+": "+c.Message)
		}
		g.Expect(got).To(Equal(want))
	}
}

// TestReportListsFailedResources: the report of an ApplicationSet lists failed and missing resources, with the clusters
// and the reasons. A Degraded Application shows the reason in a condition and in its row.
func TestReportListsFailedResources(t *testing.T) {
	start(t)
	set := applicationSet(t)
	bad, good := set.application(cluster(t), "bad").Obj(), set.application(cluster(t), "good").Obj()
	create(t, bad)
	create(t, good)
	const deployment = `{"group":"apps","version":"v1","kind":"Deployment","namespace":"guestbook","name":"ui","status":"Synced","health":`
	agentReport(t, bad, `{"health":{"status":"Degraded"},"sync":{"status":"OutOfSync","revision":"a"},
		"operationState":{"operation":{},"phase":"Running","retryCount":1,"startedAt":"2026-01-02T03:04:05Z","finishedAt":"2026-01-02T03:04:07Z",
		 "message":"one or more objects failed to apply, reason: services is forbidden. Retrying attempt #1 at 3:04AM.",
		 "syncResult":{"revision":"a","resources":[{"group":"","version":"v1","kind":"Service","namespace":"guestbook","name":"ui","status":"SyncFailed",
		  "message":"services is forbidden","syncPhase":"Sync"}]}},
		"resources":[`+deployment+`{"status":"Degraded","message":"no progress"}},
		 {"version":"v1","kind":"Service","namespace":"guestbook","name":"ui","status":"OutOfSync","health":{"status":"Missing"}}]}`)
	agentReport(t, good, `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"a"},
		"resources":[`+deployment+`{"status":"Healthy"}},{"version":"v1","kind":"Service","namespace":"guestbook","name":"ui","status":"Synced"}]}`)
	expectMessage(t, bad, apis.ConditionResourcesDegraded, "Deployment guestbook/ui: no progress")
	set.expect(t, rowSays(bad,
		"OperationError: one or more objects failed to apply, reason: services is forbidden. Argo CD tries it again.",
		"ResourcesDegradedWarning: Deployment guestbook/ui: no progress"))
	got := set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.ClusterConditions).To(HaveLen(2))
		g.Expect(r.Statuses.Resources).To(HaveLen(2))
	})
	ref := func(apiVersion, kind string) v1alpha1.ResourceRef {
		return v1alpha1.ResourceRef{APIVersion: apiVersion, Kind: kind, Namespace: "guestbook", Name: "ui"}
	}
	want := []v1alpha1.ReportedResource{
		{ResourceRef: ref("apps/v1", "Deployment"), Failing: 1, Failures: []v1alpha1.ResourceFailure{
			{Cluster: bad.Cluster(), State: "Degraded", Message: "no progress"}}},
		{ResourceRef: ref("v1", "Service"), Failing: 1, Failures: []v1alpha1.ResourceFailure{
			{Cluster: bad.Cluster(), State: "Missing", Message: "services is forbidden"}}},
	}
	if *publishedCRDs { // the published CRDs contain only names
		want = []v1alpha1.ReportedResource{{ResourceRef: want[0].ResourceRef}, {ResourceRef: want[1].ResourceRef}}
	}
	if diff := cmp.Diff(want, got.Statuses.Resources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	agentReport(t, bad, `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"b"},
		"operationState":{"operation":{},"phase":"Succeeded","startedAt":"2026-01-02T03:04:05Z"},
		"resources":[`+deployment+`{"status":"Healthy"}},{"version":"v1","kind":"Service","namespace":"guestbook","name":"ui","status":"Synced"}]}`)
	expectMessage(t, bad, apis.ConditionResourcesDegraded, "")
	got = set.expect(t, rowSays(bad))
	if r := got.Statuses.Resources; len(r) != 2 || r[0].Failing+r[1].Failing > 0 {
		t.Errorf("what was mended still fails: %+v", r)
	}
}

// TestFeedbackTellsWhyAnApplicationIsDegraded: without the agent add-on, the work agent reports the reason of a single
// resource.
func TestFeedbackTellsWhyAnApplicationIsDegraded(t *testing.T) {
	towline := start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	expectSettled(t, app)
	set.expect(t, healths("Healthy"))
	towline.countAnew(t)
	report(t, app, feedbackOf(app).Healthy("a").String("healthStatus", "Degraded").
		String("degradedKind", "Deployment").String("degradedName", "ui").String("degradedMessage", "no progress"))
	expectMessage(t, app, apis.ConditionResourcesDegraded, "Deployment ui: no progress")
	set.expect(t, rowSays(app, "ResourcesDegradedWarning: Deployment ui: no progress"))
	if !work.TellsDetails(expectWork(t, app)) {
		t.Error("the work does not ask for the reason")
	}
	onApplication := slices.DeleteFunc(towline.made(t), func(made string) bool { return !strings.Contains(made, "/applications/") })
	if n := len(onApplication); n < 1 || n > 2 { // the reason may come after the health
		t.Errorf("the health and its reason took the writes %q", onApplication)
	}
	if got := get(t, app).Status.Resources; len(got) > 0 {
		t.Errorf("one resource passes for all: %+v", got)
	}
	report(t, app, feedbackOf(app).Healthy("a"))
	expectMessage(t, app, apis.ConditionResourcesDegraded, "")
	set.expect(t, rowSays(app))
}

// TestAgentTellsOfAnArgoCDThatStandsStill: regular comparisons cost the hub nothing. The agent reports the absence of
// comparisons once, and the next comparison once.
func TestAgentTellsOfAnArgoCDThatStandsStill(t *testing.T) {
	const patience = 30 * time.Second
	towline := start(t)
	set := applicationSet(t)
	c := cluster(t)
	app := set.application(c, "a").Annotation(apis.AnnotationAppNamespace, namespace(t, onCluster(c.Name))).Obj()
	create(t, app)
	there := deliver(t, app)
	a := startAgent(t, c.Name, func(a *agentRun) { a.notComparedAfter = patience })
	comparedAt := func(at time.Time) string {
		said := at.UTC().Format(time.RFC3339)
		observe(t, there, `{"reconciledAt":"`+said+`"}`)
		return said
	}
	compared := func() string { return comparedAt(time.Now()) }
	observe(t, there, `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"a"}}`)
	compared()
	set.expect(t, healths("Healthy"))
	g := NewWithT(t)
	g.Eventually(func() string { return get(t, app).Status.ReconciledAt }, soon, tick).ShouldNot(BeEmpty())
	g.Eventually(func() []string { return slices.Concat(a.writes.take(), towline.writes.take()) }, soon, 20*tick).Should(BeEmpty())

	g.Consistently(func() []string {
		compared()
		return slices.Concat(a.writes.take(), towline.writes.take())
	}, 2*time.Second, 25*tick).Should(BeEmpty(), "comparisons in time")

	last := comparedAt(time.Now().Add(-patience + time.Second))
	g.Eventually(func() string { m, _ := condition(t, app, apis.ConditionNotCompared); return m }, soon, tick).
		Should(ContainSubstring("cluster " + c.Name + " has not compared the Application with Git since " + last))
	r := set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).To(ContainElement(HaveField("Type", apis.ConditionNotCompared)))
	})
	if row := rowOf(r, app); row.HealthStatus != "Healthy" || !*publishedCRDs && (r.Statuses.Summary.NotCompared != "1" ||
		r.Status.Conditions[1].Reason != apis.ReasonNotCompared) {
		t.Errorf("got %+v, %+v", r.Statuses, r.Status)
	}
	if made := a.writes.take(); len(made) != 1 {
		t.Errorf("the agent wrote %q", made)
	}
	g.Consistently(func() []string { return a.writes.take() }, 2*agent.Interval, tick).Should(BeEmpty())

	compared()
	expectMessage(t, app, apis.ConditionNotCompared, "")
	set.expect(t, rowSays(app))
}

// TestAgentTellsOfAnArgoCDThatHasNeverCompared: the cluster's Argo CD has not reported a comparison since the creation
// of the Application.
func TestAgentTellsOfAnArgoCDThatHasNeverCompared(t *testing.T) {
	start(t)
	app, there := pulled(t)
	startAgent(t, app.Cluster(), func(a *agentRun) { a.notComparedAfter = time.Second })
	created := there.CreationTimestamp.UTC().Format(time.RFC3339)
	NewWithT(t).Eventually(func() string { m, _ := condition(t, app, apis.ConditionNotCompared); return m }, soon, tick).
		Should(ContainSubstring("has not compared the Application with Git since " + created))
	observe(t, there, `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"a"},"reconciledAt":"`+
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	expectHealth(t, app, "Healthy")
	expectMessage(t, app, apis.ConditionNotCompared, "")
}

package envtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/agent"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// detailed is a status with every field of a report.
const detailed = `{
 "health":{"status":"Degraded","lastTransitionTime":"2026-01-02T03:04:06Z"},
 "sync":{"status":"OutOfSync","revision":"53e28ff"},
 "operationState":{"operation":{"initiatedBy":{"automated":true}},"phase":"Failed","message":"one or more objects failed to apply",
  "startedAt":"2026-01-02T03:04:05Z","finishedAt":"2026-01-02T03:04:07Z",
  "syncResult":{"revision":"53e28ff","resources":[{"group":"","version":"v1","kind":"Service","namespace":"guestbook",
    "name":"guestbook-ui","status":"SyncFailed","message":"services is forbidden","hookPhase":"Failed","syncPhase":"Sync"}]}},
 "reconciledAt":"2026-01-02T03:04:08Z",
 "conditions":[{"type":"SyncError","message":"Failed sync attempt","lastTransitionTime":"2026-01-02T03:04:07Z"}],
 "resources":[{"version":"v1","kind":"Service","namespace":"guestbook","name":"guestbook-ui","status":"OutOfSync","health":{"status":"Missing"}},
  {"group":"apps","version":"v1","kind":"Deployment","namespace":"guestbook","name":"guestbook-ui","status":"Synced","health":{"status":"Healthy"}}],
 "summary":{"externalURLs":["https://guestbook.example.com/"],"images":["gcr.io/guestbook:v1"]},
 "history":[{"id":3,"revision":"43e28ff","deployedAt":"2026-01-01T03:04:07Z",
   "source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","targetRevision":"HEAD"}}]}`

// agentRun is a running agent. The same API server, with different namespaces, plays the agent's cluster.
type agentRun struct {
	stop   func()
	writes *writes

	// notComparedAfter is the option of the agent.
	notComparedAfter time.Duration

	// argoCDTree is the option of the agent.
	argoCDTree string

	// away makes every request to the hub fail. refused counts the failed requests, and unwritten the failed writes.
	away               atomic.Bool
	refused, unwritten atomic.Int64

	// cluster is the agent's cache of its cluster.
	cluster client.Reader
}

// expectRefused waits for a further request of the agent to the absent hub.
func (a *agentRun) expectRefused(t *testing.T) {
	t.Helper()
	before := a.refused.Load()
	NewWithT(t).Eventually(a.refused.Load, soon, tick).Should(BeNumerically(">", before), "it asks the hub for nothing")
}

// expectUnwritten waits for a further failed write of the agent to the absent hub.
func (a *agentRun) expectUnwritten(t *testing.T) {
	t.Helper()
	before := a.unwritten.Load()
	NewWithT(t).Eventually(a.unwritten.Load, soon, tick).Should(BeNumerically(">", before), "it writes nothing to the hub")
}

func startAgent(t *testing.T, cluster string, edits ...func(*agentRun)) *agentRun {
	t.Helper()
	unshared(t)
	a := &agentRun{writes: &writes{}}
	for _, edit := range edits {
		edit(a)
	}
	hubConfig := rest.CopyConfig(hub)
	hubConfig.Wrap(slowed)
	hubConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted := a.writes.count(next)
		return transport(func(r *http.Request) (*http.Response, error) {
			if a.away.Load() {
				if a.refused.Add(1); r.Method != http.MethodGet {
					a.unwritten.Add(1)
				}
				return nil, errors.New("the hub is away")
			}
			return counted.RoundTrip(r)
		})
	})
	s := runtime.NewScheme()
	if err := agent.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(hub, ctrl.Options{
		Scheme: s, Cache: agent.ClusterCache([]string{onCluster(cluster)}),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: settings(), MapperProvider: knownMapper,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.cluster = mgr.GetClient()
	ctx, cancel := context.WithCancel(t.Context())
	hubSide, err := agent.NewHub(hubConfig, s, cluster)
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{Namespace: cluster, NotComparedAfter: a.notComparedAfter, ArgoCDTree: a.argoCDTree}
	if err := agent.Add(ctx, mgr, hubSide, o); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := controllers.Start(ctx, mgr); err != nil {
			t.Errorf("the agent's manager: %v", err)
		}
	})
	a.stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(a.stop)
	return a
}

// onCluster returns the namespace of Argo CD on the cluster.
func onCluster(cluster string) string { return cluster + "-argocd" }

// pulled creates a cluster, the Application on the hub, and the Application on the cluster as in the work.
func pulled(t *testing.T) (onHub, there *argocd.Application) {
	t.Helper()
	c := cluster(t)
	onHub = application(t, c).Annotation(apis.AnnotationAppNamespace, namespace(t, onCluster(c.Name))).Obj()
	create(t, onHub)
	return onHub, deliver(t, onHub)
}

// deliver applies the Application's work as the work agent of the cluster does.
func deliver(t *testing.T, onHub *argocd.Application) *argocd.Application {
	t.Helper()
	w, there := expectWork(t, onHub), &argocd.Application{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, there); err != nil {
		t.Fatal(err)
	}
	there.OwnerReferences = appliedBy(w)
	create(t, there)
	return there
}

// appliedBy returns the owner references that a work agent (v1.2.0) sets on the objects of a work.
func appliedBy(w *workv1.ManifestWork) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: workv1.GroupVersion.String(), Kind: "AppliedManifestWork", Name: strings.Repeat("a", 64) + "-" + w.Name, UID: "applied",
	}}
}

// neighbour creates a second Application for the same cluster and the same namespace on the cluster.
func neighbour(t *testing.T, app, there *argocd.Application) (onHub, onIt *argocd.Application) {
	t.Helper()
	onHub = application(t, get(t, managedCluster(app.Cluster()))).Annotation(apis.AnnotationAppNamespace, there.Namespace).Obj()
	onHub.Name = unique("neighbour")
	create(t, onHub)
	return onHub, deliver(t, onHub)
}

// heard waits until the agent has processed all earlier events in the namespace of a neighbour, and has written its
// reports. A single watch delivers all events, in order. The second write for the neighbour comes after all delayed
// writes of earlier decisions.
func heard(t *testing.T, onHub, onIt *argocd.Application) {
	t.Helper()
	for range 2 {
		round := unique("heard")
		observe(t, onIt, `{"operationState":{"operation":{},"phase":"Succeeded","startedAt":"2026-01-02T03:04:05Z","message":"`+round+`"}}`)
		NewWithT(t).Eventually(func() bool {
			r := reportOn(t, onHub)
			return r != nil && r.Status.OperationState != nil && r.Status.OperationState.Message == round
		}, soon, tick).Should(BeTrue(), "the agent does not report")
	}
	expectIdle(t)
}

// observe writes the status of the cluster's Application, as the cluster's Argo CD would.
func observe(t *testing.T, there *argocd.Application, status string) {
	t.Helper()
	if err := k8s.Patch(t.Context(), there.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))); err != nil {
		t.Fatal(err)
	}
}

// reportOn returns the report on the Application, or nil if no report exists.
func reportOn(t *testing.T, onHub *argocd.Application) *v1alpha1.ApplicationReport {
	t.Helper()
	key := work.Key(onHub)
	return get(t, &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
}

func expectReport(t *testing.T, onHub *argocd.Application, health string) *v1alpha1.ApplicationReport {
	t.Helper()
	var r *v1alpha1.ApplicationReport
	NewWithT(t).Eventually(func(g Gomega) {
		r = reportOn(t, onHub)
		g.Expect(r).NotTo(BeNil(), "no ApplicationReport %s", work.Key(onHub))
		g.Expect(r.Status.Health.Status).To(Equal(health))
	}, soon, tick).Should(Succeed())
	return r
}

// statusOf parses a status as the hub stores the status.
func statusOf(t *testing.T, status string) argocd.Status {
	t.Helper()
	var s argocd.Status
	if err := json.Unmarshal([]byte(status), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAgentBringsTheDetailToTheHub(t *testing.T) {
	towline := start(t)
	app, there := pulled(t)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	r := expectReport(t, app, "Degraded")
	expectOwned(t, app)
	if r.Application.ResourceVersion != get(t, there).ResourceVersion || r.Truncated != nil {
		t.Errorf("got %+v, %+v", r.Application, r.Truncated)
	}
	expectHealth(t, app, "Degraded")
	want := statusOf(t, detailed)
	want.OperationState.Operation.Sync.Revision = want.OperationState.SyncResult.Revision // of an automated sync, the hub knows the result
	if diff := cmp.Diff(want, get(t, app).Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	towline.countAnew(t)
	a.writes.take()
	observe(t, there, `{"health":{"status":"Healthy"}}`)
	expectHealth(t, app, "Healthy")
	var got []string
	NewWithT(t).Consistently(func() []string {
		got = slices.Concat(got, a.writes.take(), towline.writes.take())
		return got
	}, 3*agent.Interval, tick).Should(HaveLen(2), "the writes of one change")
}

// expectOwned waits until the work of the Application is the only owner of the report.
func expectOwned(t *testing.T, app *argocd.Application) {
	t.Helper()
	w := workOf(t, app)
	NewWithT(t).Eventually(func() []metav1.OwnerReference { return reportOn(t, app).OwnerReferences }, soon, tick).
		Should(ConsistOf(appreport.OwnerOf(&w.ObjectMeta)))
}

// TestAReportGetsItsOwner: the hub sets the owner of a report in a single write, and replaces any owner from an agent.
// The work may exist before the report, or come later. If an agent of an earlier version sets the correct owner itself,
// the hub writes nothing.
func TestAReportGetsItsOwner(t *testing.T) {
	towline := start(t)
	app, _ := pulled(t)
	w := workOf(t, app)
	bare := func(name string, owners ...metav1.OwnerReference) *v1alpha1.ApplicationReport {
		r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, OwnerReferences: owners}}
		r.Application = v1alpha1.ReportedApplication{Namespace: "argocd", Name: "x", ResourceVersion: "7"}
		r.ObservedAt = "2026-01-02T03:04:05Z"
		return r
	}
	towline.countAnew(t)
	owned := appreport.OwnerOf(&w.ObjectMeta)
	r := bare(w.Name, owned)
	create(t, r)
	expectIdle(t)
	if got := ofReports(towline.writes.take()); len(got) > 0 {
		t.Errorf("the owner is there already, and the hub wrote %q", got)
	}
	wrong := owned
	wrong.UID = "another"
	for title, owners := range map[string][]metav1.OwnerReference{"none": nil, "another": {wrong}, "two": {owned, wrong}} {
		edit(t, r, func(r *v1alpha1.ApplicationReport) { r.OwnerReferences = owners })
		expectOwned(t, app)
		expectIdle(t)
		if got := ofReports(towline.writes.take()); len(got) != 1 {
			t.Errorf("%s: the hub wrote %q", title, got)
		}
	}

	later := unique("later")
	create(t, bare(later))
	expectIdle(t)
	made := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: later, Labels: map[string]string{apis.LabelPull: "false"}}}
	create(t, made)
	NewWithT(t).Eventually(func() []metav1.OwnerReference {
		return get(t, bare(later)).OwnerReferences
	}, soon, tick).Should(ConsistOf(appreport.OwnerOf(&made.ObjectMeta)))
}

// ofReports returns the requests for ApplicationReports.
func ofReports(made []string) []string {
	return slices.DeleteFunc(made, func(request string) bool { return !strings.Contains(request, "/applicationreports/") })
}

func TestAgentCoalesces(t *testing.T) {
	start(t)
	app, there := pulled(t)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	expectReport(t, app, "Degraded")
	a.writes.take()
	began := time.Now()
	for i := range 60 {
		observe(t, there, fmt.Sprintf(`{"operationState":{"message":"%d"}}`, i))
	}
	g := NewWithT(t)
	g.Eventually(func() string { return reportOn(t, app).Status.OperationState.Message }, soon, tick).Should(Equal("59"))
	if writes, most := len(a.writes.take()), int(time.Since(began)/agent.Interval)+2; writes > most {
		t.Errorf("60 changes took %d writes in %s, want %d at most", writes, time.Since(began), most)
	}
}

func TestAgentAndHubStartAnewWithoutAWrite(t *testing.T) {
	towline := start(t)
	app, there := pulled(t)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	expectHealth(t, app, "Degraded")
	report(t, app, feedbackOf(app).Healthy("53e28ff").String("uid", string(there.UID))) // older than the agent's
	expectSettled(t, app)
	expectOwned(t, app)
	settled(t) // a pending write would otherwise come after the start
	a.stop()
	towline.stop()
	before := get(t, app).ResourceVersion

	towline, a = start(t), startAgent(t, app.Cluster())
	NewWithT(t).Consistently(func() []string { return slices.Concat(a.writes.take(), towline.writes.take()) }, time.Second, tick).Should(BeEmpty())
	if after := get(t, app); after.ResourceVersion != before || len(after.Status.Resources) != 2 {
		t.Errorf("the Application was written: %+v", after.Status)
	}
}

func TestAgentCatchesUpWhenTheHubWasAway(t *testing.T) {
	start(t)
	app, there := pulled(t)
	a := startAgent(t, app.Cluster())
	observe(t, there, detailed)
	expectReport(t, app, "Degraded")
	a.writes.take()
	a.away.Store(true)
	for i := range 20 {
		observe(t, there, fmt.Sprintf(`{"operationState":{"message":"%d"}}`, i))
	}
	observe(t, there, `{"health":{"status":"Healthy"}}`)
	g := NewWithT(t)
	g.Eventually(func() (string, error) {
		known := &argocd.Application{}
		err := a.cluster.Get(t.Context(), client.ObjectKeyFromObject(there), known)
		return known.Status.Health.Status, err
	}, soon, tick).Should(Equal("Healthy"))
	for range 3 { // the first write may contain an earlier state
		a.expectUnwritten(t)
	}
	a.away.Store(false)
	r := expectReport(t, app, "Healthy")
	if r.Status.OperationState.Message != "19" {
		t.Errorf("the report is of %q", r.Status.OperationState.Message)
	}
	var got []string
	g.Consistently(func() []string {
		got = append(got, a.writes.take()...)
		return got
	}, 3*agent.Interval, tick).Should(HaveLen(1), "the writes of catching up")
	expectHealth(t, app, "Healthy")
}

func TestAgentStartsWithoutTheHub(t *testing.T) {
	start(t)
	app, there := pulled(t)
	observe(t, there, detailed)
	a := startAgent(t, app.Cluster(), func(a *agentRun) { a.away.Store(true) })
	a.expectRefused(t)
	a.expectRefused(t) // the agent continues after the first attempt
	if reportOn(t, app) != nil {
		t.Fatal("the hub was not away")
	}
	a.away.Store(false)
	expectReport(t, app, "Degraded")
	expectHealth(t, app, "Degraded")
}

func TestAgentRewritesADeletedReport(t *testing.T) {
	start(t)
	app, there := pulled(t)
	startAgent(t, app.Cluster())
	observe(t, there, detailed)
	r := expectReport(t, app, "Degraded")
	expectHealth(t, app, "Degraded")
	if err := k8s.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() bool { n := reportOn(t, app); return n != nil && n.UID != r.UID }, soon, tick).Should(BeTrue())
	settled(t)
	if got := get(t, app).Status; len(got.Resources) != 2 {
		t.Errorf("a report that is gone blanks the hub: %+v", got)
	}
}

// TestAgentRewritesNoReportOfAReleasedApplication: the mark stays on the cluster's Application, and the hub does not
// read a report of a released Application. After the release is taken back, the agent reports the Application again.
func TestAgentRewritesNoReportOfAReleasedApplication(t *testing.T) {
	start(t)
	app, there := pulled(t)
	kept, keptThere := neighbour(t, app, there)
	w := expectWork(t, app)
	for range 2 { // the second agent has written none of the reports
		a := startAgent(t, app.Cluster())
		observe(t, there, detailed)
		observe(t, keptThere, detailed) // the second report waits longer than the first report
		first, second := expectReport(t, app, "Degraded"), expectReport(t, kept, "Degraded")
		edit(t, there, func(there *argocd.Application) { there.OwnerReferences = nil })
		heard(t, kept, keptThere)
		for _, r := range []*v1alpha1.ApplicationReport{first, second} { // one watch delivers both, in this order
			if err := k8s.Delete(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		NewWithT(t).Eventually(func() bool { n := reportOn(t, kept); return n != nil && n.UID != second.UID }, soon, tick).Should(BeTrue())
		expectIdle(t)
		if reportOn(t, app) != nil {
			t.Error("the agent writes the report of a released Application again")
		}
		edit(t, there, func(there *argocd.Application) { there.OwnerReferences = appliedBy(w) })
		expectReport(t, app, "Degraded")
		a.stop()
	}
}

// TestAgentNamesAnApplicationThatABackupBroughtBack: the hub has removed the Application, and a backup of the cluster
// restores it. An event on the cluster says that the Application has no manager. A released Application gets no event
// while the agent runs. Both Applications stay.
func TestAgentNamesAnApplicationThatABackupBroughtBack(t *testing.T) {
	start(t)
	app, there := pulled(t)
	startAgent(t, app.Cluster())
	observe(t, there, detailed)
	released := expectReport(t, app, "Degraded")
	restored := fixture.Application("restored").Namespace(there.Namespace).Label(apis.LabelPulled, "true").
		Annotation(apis.AnnotationWork, "restored-12345").Obj()
	create(t, restored)
	observe(t, restored, `{"health":{"status":"Healthy"}}`)
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: app.Cluster(), Name: "restored-12345"}}
	NewWithT(t).Eventually(func() *v1alpha1.ApplicationReport { return get(t, r) }, soon, tick).ShouldNot(BeNil())
	edit(t, there, func(there *argocd.Application) { there.OwnerReferences = nil })
	for _, gone := range []*v1alpha1.ApplicationReport{released, r} { // as the hub does with a report without a ManifestWork
		if err := k8s.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	NewWithT(t).Eventually(func() []string { return eventReasons(t, restored) }, soon, tick).Should(ContainElement(agent.Unmanaged))
	expectIdle(t)
	if reasons := eventReasons(t, there); slices.Contains(reasons, agent.Unmanaged) {
		t.Errorf("a released Application gets the events %q", reasons)
	}
	for _, stays := range []*argocd.Application{restored, there} {
		if now := get(t, stays); now == nil || !now.DeletionTimestamp.IsZero() {
			t.Errorf("%s does not stay", stays.Name)
		}
	}
}

func TestAgentDoesNotBelieveMarks(t *testing.T) {
	start(t)
	app, there := pulled(t)
	forged := fixture.Application("forged").Namespace(there.Namespace).Label(apis.LabelPulled, "true").
		Annotation(apis.AnnotationWork, work.Name(app)).Obj()
	create(t, forged)
	unmarked := fixture.Application("unmarked").Namespace(there.Namespace).Obj()
	create(t, unmarked)
	a := startAgent(t, app.Cluster())
	observe(t, forged, `{"health":{"status":"Missing"}}`)
	observe(t, unmarked, `{"health":{"status":"Missing"}}`)
	observe(t, there, detailed) // the agent gets this event after the event of the unmarked Application
	expectReport(t, app, "Degraded")
	expectIdle(t)
	observe(t, forged, `{"health":{"status":"Healthy"}}`)
	observe(t, there, `{"summary":{"images":["gcr.io/guestbook:v2"]}}`)
	NewWithT(t).Eventually(func() bool {
		summary := reportOn(t, app).Status.Summary
		return summary != nil && slices.Contains(summary.Images, "gcr.io/guestbook:v2")
	}, soon, tick).Should(BeTrue())
	expectIdle(t)
	if got := reportOn(t, app).Status.Health.Status; got != "Degraded" {
		t.Errorf("the report says %s", got)
	}
	if got := a.writes.take(); len(got) != 2 {
		t.Errorf("two changes of what is marked rightly took the writes %q", got)
	}
}

// TestReportsOfAHostileAgent writes reports as a foreign agent could, without the agent's own checks.
func TestReportsOfAHostileAgent(t *testing.T) {
	start(t)
	app, _ := pulled(t)
	neighbour, there := pulled(t)
	startAgent(t, neighbour.Cluster())
	key := work.Key(app)
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	r.Application = v1alpha1.ReportedApplication{Namespace: app.ClusterNamespace(), Name: app.Name, ResourceVersion: "7"}
	r.ObservedAt = "2026-01-02T03:04:05Z"
	r.Status = statusOf(t, `{"health":{"status":"Excellent"},"sync":{"status":"Synced","revision":"a"},
		"conditions":[{"type":"PropagationError","message":"nonsense"},{"type":"SyncError","message":"a\u001b[31mb"}],
		"resources":[{"kind":"Service","name":"a","status":"Broken"},{"name":"b"}],
		"summary":{"externalURLs":["javascript:alert(1)"]}}`)
	create(t, r)
	g := NewWithT(t)
	g.Eventually(func() *argocd.Sync { return get(t, app).Status.Sync }, soon, tick).ShouldNot(BeNil())
	got := get(t, app).Status
	for i := range got.Conditions {
		got.Conditions[i].LastTransitionTime = nil
	}
	want := statusOf(t, `{"sync":{"status":"Synced","revision":"a"},"conditions":[{"type":"SyncError","message":"a [31mb"}],
		"resources":[{"kind":"Service","name":"a"}]}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	observe(t, there, detailed)
	expectHealth(t, neighbour, "Degraded")
}

func TestReportOnAnotherApplicationIsIgnored(t *testing.T) {
	start(t)
	app, there := pulled(t)
	key := work.Key(app)
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	r.Application = v1alpha1.ReportedApplication{Namespace: "team-a", Name: there.Name, ResourceVersion: "99999999"}
	r.ObservedAt, r.Status = "2026-01-02T03:04:05Z", statusOf(t, detailed)
	create(t, r)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	known := application(t, cluster(t)).Obj()
	create(t, known)
	reported(t, known, detailed) // one watch delivers both, in this order
	expectHealth(t, known, "Degraded")
	expectIdle(t)
	if got := get(t, app).Status; len(got.Resources) > 0 || got.Health.Status != "Healthy" {
		t.Errorf("it says %+v", got)
	}
}

// reported creates a report on the Application as the cluster's agent would.
func reported(t *testing.T, app *argocd.Application, status string) {
	t.Helper()
	key := work.Key(app)
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	r.Application = v1alpha1.ReportedApplication{Namespace: app.ClusterNamespace(), Name: app.Name, ResourceVersion: "7"}
	r.ObservedAt, r.Status = "2026-01-02T03:04:05Z", statusOf(t, status)
	create(t, r)
}

// TestAReportBeforeItsApplication: the hub's cache drops the content of a report without an Application. Towline reads
// the report again when a matching Application appears.
func TestAReportBeforeItsApplication(t *testing.T) {
	start(t)
	c := cluster(t)
	app := application(t, c).Label(apis.LabelPull, "false").Obj()
	create(t, app)
	known := application(t, c).Obj()
	create(t, known)
	for _, app := range []*argocd.Application{app, known} { // one watch delivers both, in this order
		reported(t, app, detailed)
	}
	expectHealth(t, known, "Degraded")
	edit(t, app, func(a *argocd.Application) { a.Labels[apis.LabelPull] = "true" })
	expectHealth(t, app, "Degraded")
}

func TestTheSchemaBoundsAReport(t *testing.T) {
	c := cluster(t)
	for title, edit := range map[string]func(*v1alpha1.ApplicationReport){
		"a message":   func(r *v1alpha1.ApplicationReport) { r.Status.Health.Message = strings.Repeat("x", 2049) },
		"a name":      func(r *v1alpha1.ApplicationReport) { r.Application.Name = strings.Repeat("x", 254) },
		"a time":      func(r *v1alpha1.ApplicationReport) { r.ObservedAt = "now" },
		"a version":   func(r *v1alpha1.ApplicationReport) { r.Application.ResourceVersion = "" },
		"the history": func(r *v1alpha1.ApplicationReport) { r.Status.History = make([]argocd.Deployment, 11) },
	} {
		r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: c.Name, Name: unique("report")}, ObservedAt: "2026-01-02T03:04:05Z"}
		r.Application = v1alpha1.ReportedApplication{Namespace: "a", Name: "b", ResourceVersion: "1"}
		edit(r)
		if err := k8s.Create(t.Context(), r); err == nil {
			t.Errorf("%s: accepted", title)
		}
	}
}

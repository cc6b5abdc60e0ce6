package envtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// carried returns the operation in the Application's work, or an empty string without an operation.
func carried(t *testing.T, app *argocd.Application) string {
	t.Helper()
	var held struct {
		Operation json.RawMessage `json:"operation"`
	}
	if w := workOf(t, app); w != nil {
		if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &held); err != nil {
			t.Fatal(err)
		}
	}
	return string(held.Operation)
}

// sentOperation waits until the Application's work contains an operation with an identity other than not, and returns
// the identity.
func sentOperation(t *testing.T, app *argocd.Application, not string) string {
	t.Helper()
	var id string
	NewWithT(t).Eventually(func() string {
		id = relay.ID([]byte(carried(t, app)))
		return id
	}, soon, tick).ShouldNot(BeElementOf("", not))
	return id
}

// expectApplication waits until the work contains the Application's spec. The work may still record requests.
func expectApplication(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(ContainSubstring(`"spec"`))
}

// modified is the agent's message about a request for an outdated version of the cluster's Application.
const modified = `Failed to apply manifest: Operation cannot be fulfilled on applications.argoproj.io "x": ` +
	"the object has been modified; please apply your changes to the latest version and try again"

// refused reports that the agent could not apply the present generation of the work, for the reason why.
func refused(t *testing.T, app *argocd.Application, why string) {
	t.Helper()
	refusedAt(t, app, workOf(t, app).Generation, why)
}

// refusedAt reports that the agent could not apply a given generation of the work.
func refusedAt(t *testing.T, app *argocd.Application, generation int64, why string) {
	t.Helper()
	editStatus(t, workOf(t, app), func(w *workv1.ManifestWork) {
		for _, conditions := range []*[]metav1.Condition{&w.Status.Conditions, &w.Status.ResourceStatus.Manifests[0].Conditions} {
			meta.SetStatusCondition(conditions, metav1.Condition{
				Type: workv1.WorkApplied, Status: metav1.ConditionFalse, Reason: "AppliedManifestFailed", Message: why, ObservedGeneration: generation,
			})
		}
	})
}

func request(t *testing.T, app *argocd.Application, operation string) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Operation = &runtime.RawExtension{Raw: []byte(operation)} })
}

// operationReport returns a report with an operation of the identity and the phase.
func operationReport(app *argocd.Application, phase, id string) *fixture.FeedbackBuilder {
	b := feedbackOf(app).String("healthStatus", "Healthy").String("syncStatus", "Synced").
		String("operationStatePhase", phase).String("operationStateStartedAt", "2026-01-02T03:04:05Z")
	if id != "" {
		b.String("operationTaken", id)
	}
	if phase == "Running" {
		return b.String("operationPending", id)
	}
	return b.String("operationStateFinishedAt", "2026-01-02T03:04:09Z")
}

func TestOperationRunsOnce(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	request(t, app, `{"sync":{"revision":"abc","prune":true,"syncOptions":["A=b"]},"initiatedBy":{"username":"me"}}`)
	id := sentOperation(t, app, "")
	if got := carried(t, app); !strings.Contains(got, `"syncOptions":["A=b"]`) || !strings.Contains(got, `"username":"me"`) {
		t.Errorf("the operation lost something: %s", got)
	}
	raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw)
	if !strings.Contains(raw, `"resourceVersion":"1"`) || strings.Contains(raw, `"spec"`) {
		t.Errorf("the request could meet an operation that nobody saw, or undo a change: %s", raw)
	}

	// The request stays until the agent's answer, through changes and a restart.
	held := workOf(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	towline.stop()
	start(t)
	settled(t)
	if got := workOf(t, app); got.Generation != held.Generation {
		t.Error("the request was changed on its way")
	}

	// After the apply, the work contains the Application again, with the changes and without the operation.
	reportHeld(t, app, operationReport(app, "Running", id).String("resourceVersion", "2"))
	g := NewWithT(t)
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(And(ContainSubstring(`"note":"x"`), Not(ContainSubstring(`"operation"`))))
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue(), "the hub's operation stays")

	// During the operation, changes are sent, and the operation is not sent again.
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "y" })
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).Should(ContainSubstring(`"note":"y"`))
	reportHeld(t, app, operationReport(app, "Succeeded", id).String("resourceVersion", "3"))
	expectWork(t, app)
}

// TestOperationWithoutContent: a late patch of a controller can leave an empty operation after the operation was
// removed.
func TestOperationWithoutContent(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	expectSettled(t, app)
	before := workOf(t, app)
	request(t, app, `{"info":[{"name":"Reason","value":"once more"}]}`)
	g := NewWithT(t)
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue())
	g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonOperationInvalid))
	if got := expectWork(t, app); got.Generation != before.Generation {
		t.Error("it was sent")
	}
}

// TestMessageOfAVersionConflict: the API server's message about a version conflict has the expected form. The
// agent passes the message on, and applies a request as the test does.
func TestMessageOfAVersionConflict(t *testing.T) {
	there := fixture.Application(unique("app")).Namespace(cluster(t).Name).Obj()
	create(t, there)
	before := there.ResourceVersion
	edit(t, there, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	request := &unstructured.Unstructured{}
	request.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind))
	request.SetNamespace(there.Namespace)
	request.SetName(there.Name)
	request.SetResourceVersion(before)
	request.Object["operation"] = map[string]any{"sync": map[string]any{}}
	err := k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(request), client.ForceOwnership, client.FieldOwner("work-agent-operation"))
	if !apierrors.IsConflict(err) {
		t.Fatalf("got %v", err)
	}
	app := fixture.Application("app").Obj()
	w, renderErr := work.Render(app, work.Requests{})
	if renderErr != nil {
		t.Fatal(renderErr)
	}
	w.Status = fixture.Feedback(work.Identifier(app)).
		Condition(workv1.WorkApplied, metav1.ConditionFalse, "Failed to apply manifest: "+err.Error()).Obj()
	if !work.ReportOf(w).Outdated() {
		t.Errorf("%q is taken for another reason", err)
	}
}

// TestOperationThatFails: the cluster's API server failed, so Towline sends the operation again for the same version
// after a while.
func TestOperationThatFails(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	id := sentOperation(t, app, "")
	refused(t, app, "Failed to apply manifest: etcdserver: request timed out")
	expectApplication(t, app)
	reportHeld(t, app, feedbackOf(app).Healthy("a"))
	settled(t)
	if got := carried(t, app); got != "" {
		t.Errorf("%s was sent again at once", got)
	}
	edit(t, workOf(t, app), func(w *workv1.ManifestWork) { // as if the failure were older
		sent := relay.ParseSent(w.Annotations[apis.AnnotationRequestSent])
		sent.Since = sent.Since.Add(-relay.RetryAfter)
		w.Annotations[apis.AnnotationRequestSent] = sent.String()
	})
	if again := sentOperation(t, app, ""); again != id {
		t.Error("it is another one")
	}
	if raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"resourceVersion":"1"`) {
		t.Errorf("it is for another version: %s", raw)
	}
}

// TestOperationThatIsRefused: the cluster's Application had changed, so Towline sends the operation again for the new
// version.
func TestOperationThatIsRefused(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	id := sentOperation(t, app, "")
	refused(t, app, modified)
	expectApplication(t, app)
	settled(t)
	if got := carried(t, app); got != "" {
		t.Errorf("%s was sent again for the version that refused it", got)
	}
	reportHeld(t, app, feedbackOf(app).Healthy("a").String("resourceVersion", "2"))
	if again := sentOperation(t, app, ""); again != id {
		t.Error("it is another one")
	}
	if raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"resourceVersion":"2"`) {
		t.Errorf("it is for the old version: %s", raw)
	}
}

func TestOperationWaitsForItsTurn(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, operationReport(app, "Running", "of-the-cluster"))
	NewWithT(t).Eventually(func() *argocd.OperationState { return get(t, app).Status.OperationState }, soon, tick).ShouldNot(BeNil())
	request(t, app, `{"sync":{}}`)
	settled(t)
	if got := carried(t, app); got != "" {
		t.Errorf("%s was sent while another operation runs", got)
	}
	reportHeld(t, app, operationReport(app, "Succeeded", "of-the-cluster"))
	first := sentOperation(t, app, "")

	// An identical operation after the end of the first operation is a new request.
	reportHeld(t, app, operationReport(app, "Succeeded", first).String("resourceVersion", "2"))
	NewWithT(t).Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue())
	expectApplication(t, app)
	request(t, app, `{"sync":{}}`)
	NewWithT(t).Eventually(func() string { return relay.ID(get(t, app).Operation.Raw) }, soon, tick).ShouldNot(BeEmpty())
	reportHeld(t, app, operationReport(app, "Succeeded", first).String("resourceVersion", "3"))
	sentOperation(t, app, first)
}

func TestOperationThatIsWithdrawn(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) { a.Operation = nil })
	expectWork(t, app)
}

// TestOperationBeforeTheFirstDelivery: the Application is sent before its operation.
func TestOperationBeforeTheFirstDelivery(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	app.Operation = &runtime.RawExtension{Raw: []byte(`{"sync":{}}`)}
	create(t, app)
	report(t, app, feedbackOf(app))
	sentOperation(t, app, "")
}

// TestTermination: Argo CD requests a termination in the status. Therefore the phase Terminating stays on the hub until
// the cluster has received the termination.
func TestTermination(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, operationReport(app, "Running", "of-the-cluster"))
	phase := func() string {
		if s := get(t, app).Status.OperationState; s != nil {
			return s.Phase
		}
		return ""
	}
	g := NewWithT(t)
	g.Eventually(phase, soon, tick).Should(Equal("Running"))
	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Terminating" })
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(ContainSubstring(`"phase":"Terminating"`))
	settled(t)
	if got := phase(); got != "Terminating" {
		t.Errorf("the hub shows %s again", got)
	}
	// The termination does not concern the next, waiting request.
	request(t, app, `{"sync":{}}`)
	settled(t)
	reportHeld(t, app, operationReport(app, "Failed", "of-the-cluster").String("resourceVersion", "2"))
	g.Eventually(phase, soon, tick).Should(Equal("Failed"))
	expectApplication(t, app)
	reportHeld(t, app, operationReport(app, "Failed", "of-the-cluster").String("resourceVersion", "3"))
	sentOperation(t, app, "")

	// A termination withdraws an operation that the cluster has not taken yet.
	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Terminating" })
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue())
	g.Eventually(phase, soon, tick).Should(Equal("Failed"))
	expectWork(t, app)
}

// TestTerminationWhoseEndIsSeenFirst: the cluster reports the end of its operation before the agent confirms the
// termination. The termination must not hit the waiting request.
func TestTerminationWhoseEndIsSeenFirst(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Propagation} })
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, operationReport(app, "Running", "of-the-cluster"))
	edit(t, app, func(a *argocd.Application) {
		a.Status.OperationState = &argocd.OperationState{Operation: argocd.Operation{}, Phase: "Terminating", StartedAt: "2026-01-02T03:04:05Z"}
	})
	g := NewWithT(t)
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(ContainSubstring(`"phase":"Terminating"`))
	request(t, app, `{"sync":{}}`)
	editStatus(t, workOf(t, app), func(w *workv1.ManifestWork) {
		w.Status.ResourceStatus = operationReport(app, "Failed", "of-the-cluster").String("resourceVersion", "2").Obj().ResourceStatus
	})
	expectApplication(t, app)
	reportHeld(t, app, operationReport(app, "Failed", "of-the-cluster").String("resourceVersion", "3"))
	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Failed" }) // as the status controller would
	sentOperation(t, app, "")
}

// TestRefreshWhileAnOperationIsOnItsWay: a pending operation does not extend the deadline of a refresh.
func TestRefreshWhileAnOperationIsOnItsWay(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "hard" })
	g := NewWithT(t)
	g.Eventually(func() string { return work.Sent(workOf(t, app)).Refresh.Kind }, soon, tick).Should(Equal("hard"))
	if carried(t, app) == "" {
		t.Fatal("the operation is gone")
	}
	edit(t, workOf(t, app), func(w *workv1.ManifestWork) { // as if the refresh were two minutes old
		w.Annotations[apis.AnnotationRefreshSent] = "hard 2026-01-02T03:04:08Z " + time.Now().Add(-2*time.Minute).UTC().Format(time.RFC3339)
	})
	g.Eventually(func() string { return get(t, app).Annotations[apis.AnnotationRefresh] }, soon, tick).Should(BeEmpty())
	if _, told := condition(t, app, apis.ConditionRefreshWarning); !told {
		t.Error("nobody was told")
	}
}

// TestRefreshOfAnApplicationThatIsNotSent: without a work, no cluster would answer the refresh. The next refresh stays for a
// while, because the ApplicationSet controller of Argo CD 3.6 requests a dropped refresh again at once.
func TestRefreshOfAnApplicationThatIsNotSent(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Cluster("nowhere").Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonClusterNotFound, "nowhere")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "hard" })
	g, asked := NewWithT(t), func() string { return get(t, app).Annotations[apis.AnnotationRefresh] }
	g.Eventually(asked, soon, tick).Should(BeEmpty())
	expectNotice(t, app, apis.ConditionRefreshWarning, "does not exist: import the cluster")
	expectProblem(t, app, apis.ReasonClusterNotFound, "nowhere")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "normal" })
	g.Consistently(asked, time.Second, tick).Should(Equal("normal"))
}

// refresh requests a refresh on the hub, and returns the identity and the kind of the request in the work.
func refresh(t *testing.T, app *argocd.Application, value string) relay.Refresh {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = value })
	var sent relay.Refresh
	NewWithT(t).Eventually(func() string {
		sent = work.Sent(workOf(t, app)).Refresh
		return sent.Kind
	}, soon, tick).ShouldNot(BeEmpty())
	return sent
}

// expectRefreshed waits until the hub shows the answer to the refresh, and the work has its earlier content again.
func expectRefreshed(t *testing.T, app *argocd.Application, at string) {
	t.Helper()
	NewWithT(t).Eventually(func() map[string]string { return get(t, app).Annotations }, soon, tick).ShouldNot(HaveKey(apis.AnnotationRefresh))
	if shown := get(t, app).Status.ReconciledAt; shown != at {
		t.Errorf("the hub shows a comparison at %q, want %q", shown, at)
	}
	if m, told := condition(t, app, apis.ConditionRefreshWarning); told {
		t.Errorf("it is said: %s", m)
	}
	if sent := work.Sent(expectWork(t, app)); sent.Refresh.Kind != "" {
		t.Errorf("the work still carries %+v", sent.Refresh)
	}
	expectSettled(t, app)
}

func TestRefreshIsAnswered(t *testing.T) {
	start(t)
	for value, kind := range map[string]string{"hard": "hard", "normal": "normal", "": "normal", "please": "normal"} {
		t.Run(value, func(t *testing.T) {
			app := application(t, cluster(t)).Obj()
			create(t, app)
			report(t, app, feedbackOf(app).Healthy("a"))
			expectHealth(t, app, "Healthy")
			sent := refresh(t, app, value)
			if sent.Kind != kind {
				t.Errorf("%s is sent", sent.Kind)
			}
			raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw)
			if !strings.Contains(raw, `"argocd.argoproj.io/refresh":"`+kind+`"`) || !strings.Contains(raw, sent.ID) {
				t.Errorf("the payload does not ask for it: %s", raw)
			}
			reportHeld(t, app, feedbackOf(app).Healthy("a").String("refreshRequest", sent.ID).String("reconciledAt", "2026-01-02T03:05:00Z"))
			expectRefreshed(t, app, "2026-01-02T03:05:00Z")
		})
	}
}

// TestRefreshIsAnsweredByItsOwnComparison: a comparison that is reported late, or that runs before the refresh arrives,
// is no answer. A comparison in the same second as the previous comparison is an answer.
func TestRefreshIsAnsweredByItsOwnComparison(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectSettled(t, app)
	sent := refresh(t, app, "hard")
	asked := func() map[string]string { return get(t, app).Annotations }
	for title, b := range map[string]*fixture.FeedbackBuilder{
		"before it was applied":    feedbackOf(app).Healthy("a").String("reconciledAt", "2026-01-02T03:05:00Z"),
		"with an earlier refresh":  feedbackOf(app).Healthy("a").String("reconciledAt", "2026-01-02T03:05:00Z").String("refreshRequest", "earlier"),
		"before Argo CD has begun": feedbackOf(app).Healthy("a").String("refreshRequest", sent.ID).String("refreshPending", "hard"),
		"by an agent that can't": feedbackOf(app).Healthy("a").String("refreshRequest", sent.ID).
			Condition("StatusFeedbackSynced", metav1.ConditionFalse, "no"),
		"of an older version's way": feedbackOf(app).Healthy("a").String("reconciledAt", "2036-01-02T03:05:00Z"),
	} {
		reportHeld(t, app, b)
		settled(t)
		if _, waits := asked()[apis.AnnotationRefresh]; !waits {
			t.Fatalf("%s: it counts as answered", title)
		}
	}
	reportHeld(t, app, feedbackOf(app).Healthy("a").String("refreshRequest", sent.ID))
	expectRefreshed(t, app, "2026-01-02T03:04:08Z")

	// The next refresh is a new request: the answer to the first refresh does not count.
	again := refresh(t, app, "hard")
	if again.ID == sent.ID {
		t.Error("it has the identity of the first")
	}
	settled(t)
	if _, waits := asked()[apis.AnnotationRefresh]; !waits {
		t.Error("it counts as answered by the first")
	}
}

// TestRefreshOfAnApplicationThatCannotBeCompared: Argo CD removes the refresh annotation without a comparison.
func TestRefreshOfAnApplicationThatCannotBeCompared(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	b := feedbackOf(app).String("healthStatus", "Unknown").String("syncStatus", "Unknown").String("conditionInvalidSpecError", "no")
	report(t, app, b)
	expectHealth(t, app, "Unknown")
	reportHeld(t, app, b.String("refreshRequest", refresh(t, app, "normal").ID))
	NewWithT(t).Eventually(func() map[string]string { return get(t, app).Annotations }, soon, tick).ShouldNot(HaveKey(apis.AnnotationRefresh))
}

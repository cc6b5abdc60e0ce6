package controllers_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// sentOperation waits until the Application's work carries an operation with an identity, which it returns.
func sentOperation(t *testing.T, app *argocd.Application, not string) string {
	t.Helper()
	var id string
	NewWithT(t).Eventually(func() string {
		if w := workOf(t, app); w != nil {
			id = relay.ID(work.Sent(w).Operation)
		}
		return id
	}, soon, tick).ShouldNot(BeElementOf("", not))
	return id
}

func request(t *testing.T, app *argocd.Application, operation string) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Operation = &runtime.RawExtension{Raw: []byte(operation)} })
}

// operationReport reports an operation of that identity in that phase.
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
	if got := string(work.Sent(workOf(t, app)).Operation); !strings.Contains(got, `"syncOptions":["A=b"]`) || !strings.Contains(got, `"username":"me"`) {
		t.Errorf("the operation lost something: %s", got)
	}

	// Until the cluster has taken it, nothing may change the payload: the agent would apply the operation again.
	held := workOf(t, app)
	towline.writes.take()
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	towline.stop()
	start(t) // also not a restart
	second := application(t, cluster(t)).Obj()
	create(t, second)
	expectWork(t, second)
	if got := workOf(t, app); got.Generation != held.Generation {
		t.Error("the payload changed while the operation was on its way")
	}

	reportHeld(t, app, operationReport(app, "Running", id))
	g := NewWithT(t)
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue(), "the hub's operation stays")
	if got := relay.ID(work.Sent(workOf(t, app)).Operation); got != id {
		t.Error("the operation was taken out of the payload while it runs: Argo CD would stop working on it")
	}
	// What was held back goes on its way when the operation has ended, without the operation.
	reportHeld(t, app, operationReport(app, "Succeeded", id))
	g.Eventually(func() string { return string(work.Sent(workOf(t, app)).Operation) }, soon, tick).Should(BeEmpty())
	if w := expectWork(t, app); !strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"note":"x"`) {
		t.Error("the change that was held back did not go out")
	}
}

func TestOperationWaitsForItsTurn(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, operationReport(app, "Running", "of-the-cluster"))
	NewWithT(t).Eventually(func() *argocd.OperationState { return get(t, app).Status.OperationState }, soon, tick).ShouldNot(BeNil())
	request(t, app, `{"sync":{}}`)
	second := application(t, cluster(t)).Obj()
	create(t, second)
	expectWork(t, second)
	if got := work.Sent(workOf(t, app)).Operation; len(got) > 0 {
		t.Errorf("%s was sent while another operation runs", got)
	}
	reportHeld(t, app, operationReport(app, "Succeeded", "of-the-cluster"))
	first := sentOperation(t, app, "")

	// The same request again, after the first was taken, is a request of its own.
	reportHeld(t, app, operationReport(app, "Succeeded", first))
	NewWithT(t).Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue())
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, first)
}

func TestOperationThatIsWithdrawn(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectWork(t, app)
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) { a.Operation = nil })
	NewWithT(t).Eventually(func() string { return string(work.Sent(workOf(t, app)).Operation) }, soon, tick).Should(BeEmpty())
}

func TestOperationOfAnApplicationThatIsNotThereYet(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	app.Operation = &runtime.RawExtension{Raw: []byte(`{"sync":{}}`)}
	create(t, app)
	sentOperation(t, app, "")
}

func TestRefreshIsAnswered(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "hard" })
	g := NewWithT(t)
	g.Eventually(func() string { return work.Sent(workOf(t, app)).Refresh.Kind }, soon, tick).Should(Equal("hard"))
	if raw := string(workOf(t, app).Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"argocd.argoproj.io/refresh":"hard"`) {
		t.Errorf("the payload does not ask for it: %s", raw)
	}
	reportHeld(t, app, feedbackOf(app).String("healthStatus", "Healthy").String("reconciledAt", "2026-01-02T03:05:00Z"))
	g.Eventually(func() string { return get(t, app).Annotations[apis.AnnotationRefresh] }, soon, tick).Should(BeEmpty())
	expectWork(t, app)
	if sent := work.Sent(workOf(t, app)); sent.Refresh.Kind != "" {
		t.Errorf("the work still carries %+v", sent.Refresh)
	}
}

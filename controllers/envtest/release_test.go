package envtest_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// slips are the changes by which Towline stops managing an Application.
var slips = map[string]func(*argocd.Application){
	"asked for":              func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" },
	"the label is gone":      func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) },
	"the label says false":   func(a *argocd.Application) { a.Labels[apis.LabelPull] = "false" },
	"skip-reconcile is gone": func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) },
	"no cluster is named":    func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "" },
}

// expectToldOnce waits for an event with the reason, and checks that no second event follows.
func expectToldOnce(t *testing.T, app *argocd.Application, reason string) {
	t.Helper()
	told := func() []string {
		return slices.DeleteFunc(eventReasons(t, app), func(r string) bool { return r != reason })
	}
	g := NewWithT(t)
	g.Eventually(told, soon, tick).Should(HaveLen(1))
	settled(t)
	g.Expect(told()).To(HaveLen(1))
}

// TestRelease: Towline deletes the work only after the agent has applied the option that keeps everything on the
// cluster.
func TestRelease(t *testing.T) {
	towline, whole := start(t), t
	for title, slip := range slips {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			report(t, app, feedbackOf(app).Healthy("a"))
			expectHealth(t, app, "Healthy")
			w := app.DeepCopy() // the annotation with the cluster may be removed
			edit(t, app, slip)
			held := expectReleasing(t, w)
			if strings.Contains(string(held.Spec.Workload.Manifests[0].Raw), apis.FinalizerResources) {
				t.Error("the Application there would cascade")
			}
			conditionType := apis.ConditionReleaseWarning
			if title == "skip-reconcile is gone" || title == "no cluster is named" {
				conditionType = apis.ConditionPropagationError
			}
			expectNotice(t, app, conditionType, "waiting for the work agent of cluster "+held.Namespace)
			settled(t)
			if got := workOf(t, w); got == nil || !got.DeletionTimestamp.IsZero() {
				t.Fatal("the work went before the agent could release it")
			}
			if title == "asked for" { // also not after a restart
				towline.stop()
				towline = start(whole)
			}
			applied(t, held)
			expectNoWork(t, w)
			if got := get(t, app.DeepCopy()); len(got.Finalizers) != 1 {
				t.Error("the hub's Application lost its finalizer")
			}
			if title == "asked for" {
				expectNotice(t, app, apis.ConditionReleaseWarning, "released: ")
			}
			expectToldOnce(t, app, apis.ReasonReleased)
		})
	}
}

// TestReleaseTakenBack: after a release that is taken back half-way, the Application is managed again, with the same
// work.
func TestReleaseTakenBack(t *testing.T) {
	start(t)
	for title, slip := range slips {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			before := expectWork(t, app)
			applied(t, before)
			labels, annotations := app.Labels, app.Annotations
			w := app.DeepCopy()
			edit(t, app, slip)
			expectReleasing(t, w)
			edit(t, app, func(a *argocd.Application) { a.Labels, a.Annotations = labels, annotations })
			if got := expectWork(t, w); got.UID != before.UID || got.Spec.DeleteOption != nil {
				t.Error("it is not managed as before")
			}
			expectNoNotice(t, app, apis.ConditionReleaseWarning)
		})
	}
}

// TestReleaseOfAnApplicationThatIsDeletedMeanwhile: a deletion during a release does not destroy the workload.
func TestReleaseOfAnApplicationThatIsDeletedMeanwhile(t *testing.T) {
	start(t)
	for title, letGo := range map[string]func(*argocd.Application){
		"annotation": func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" },
		"label":      func(a *argocd.Application) { a.Labels[apis.LabelPull] = "false" },
	} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Annotation(apis.AnnotationRelease, "false").Obj()
			create(t, app)
			applied(t, expectWork(t, app))
			edit(t, app, letGo)
			w := expectReleasing(t, app)
			remove(t, app)
			settled(t)
			if got := workOf(t, app); got == nil || !got.DeletionTimestamp.IsZero() {
				t.Fatal("the work went before the agent could release it")
			}
			applied(t, w)
			expectNoWork(t, app)
			expectGone(t, app)
		})
	}
}

// TestReleaseSendsNothingForbidden: the Application that replaces the request in the work has its present spec, and the
// present spec is forbidden on the cluster.
func TestReleaseSendsNothingForbidden(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) {
		a.Annotations[apis.AnnotationRelease] = "true"
		a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), `"project":"default"`, `"project":"others"`, 1))
	})
	g := NewWithT(t)
	g.Eventually(func() []argocd.Condition {
		now := &argocd.Application{}
		g.Expect(k8s.Get(t.Context(), client.ObjectKeyFromObject(app), now)).To(Succeed())
		return now.Status.Conditions
	}, soon, tick).Should(ContainElement(HaveField("Type", apis.ConditionPropagationForbiddenError)))
	if w := workOf(t, app); w == nil || work.Released(w) || strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), "others") {
		t.Errorf("got %+v", w)
	}
}

// TestReleaseWhileARequestIsOnItsWay: the Application first replaces the request in the work, because the agent may
// refuse the request.
func TestReleaseWhileARequestIsOnItsWay(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	w := expectReleasing(t, app)
	if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"spec"`) || strings.Contains(raw, `"operation"`) {
		t.Errorf("the work carries %s", raw)
	}
	applied(t, w)
	expectNoWork(t, app)
}

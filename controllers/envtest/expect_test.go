package envtest_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// get reads an object from the API server. The result is nil if the object does not exist.
func get[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	err := k8s.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		var none T
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// workOf returns the Application's work, or nil if no work exists.
func workOf(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	key := work.Key(app)
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name = key.Namespace, key.Name
	return get(t, w)
}

// expectWork waits until the Application's work equals the result of Render, with or without the volatile values, and
// returns the work.
func expectWork(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func(g Gomega) {
		w = workOf(t, app)
		g.Expect(w).NotTo(BeNil(), "no ManifestWork %s", work.Key(app))
		g.Expect(w.DeletionTimestamp.IsZero()).To(BeTrue())
		desired, err := work.Render(get(t, app), work.Requests{
			Volatile: work.TellsVolatile(w), Details: work.TellsDetails(w), Watched: work.Polled(w),
		})
		g.Expect(err).NotTo(HaveOccurred())
		work.SetUpdateMode(desired, work.UpdateModeOf(w)) // the update mode is the subject of other tests
		if work.AsksOrigin(w) && !work.AsksOrigin(desired) {
			work.AskOrigin(desired)
		}
		if by, ok := w.Annotations[apis.AnnotationGrantedBy]; ok { // the grant is the subject of other tests too
			desired.Annotations[apis.AnnotationGrantedBy] = by
		}
		_, differs := work.Update(w, desired)
		g.Expect(differs).To(BeFalse(), "the ManifestWork is not up to date")
	}, soon, tick).Should(Succeed())
	return w
}

// expectSettled waits until the hub shows a comparison, and the Application's work does not ask for the values that
// change with every comparison.
func expectSettled(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() bool { return get(t, app).Status.ReconciledAt == "" || work.TellsVolatile(workOf(t, app)) }, soon, tick).
		Should(BeFalse(), "somebody waits still")
}

// expectNoWork waits until the Application has no work.
func expectNoWork(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return workOf(t, app) }, soon, tick).Should(BeNil())
}

// condition returns the message of a condition of the Application, and whether the condition exists.
func condition(t *testing.T, app *argocd.Application, conditionType string) (string, bool) {
	t.Helper()
	now := get(t, app.DeepCopy())
	if now == nil {
		return "the Application is gone", false
	}
	for _, c := range now.Status.Conditions {
		if c.Type == conditionType {
			return c.Message, true
		}
	}
	return "", false
}

// expectProblem waits until the Application shows a PropagationError with the text, and an event with the reason.
func expectProblem(t *testing.T, app *argocd.Application, reason, says string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() string {
		message, _ := condition(t, app, apis.ConditionPropagationError)
		return message
	}, soon, tick).Should(ContainSubstring(says))
	g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(reason))
}

// expectNoProblem waits until the Application shows no PropagationError.
func expectNoProblem(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		_, there := condition(t, app, apis.ConditionPropagationError)
		return there
	}, soon, tick).Should(BeFalse())
}

// expectNotice waits until the Application shows the condition with the text.
func expectNotice(t *testing.T, app *argocd.Application, conditionType, says string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		message, _ := condition(t, app, conditionType)
		return message
	}, soon, tick).Should(ContainSubstring(says))
}

// expectNoNotice waits until the Application does not show the condition.
func expectNoNotice(t *testing.T, app *argocd.Application, conditionType string) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		_, there := condition(t, app, conditionType)
		return there
	}, soon, tick).Should(BeFalse())
}

// expectReleasing waits until the deletion of the Application's work would leave everything on the cluster, and returns
// the work.
func expectReleasing(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func() bool {
		w = workOf(t, app)
		return w != nil && work.Released(w)
	}, soon, tick).Should(BeTrue())
	return w
}

func eventReasons(t *testing.T, obj client.Object) []string {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := k8s.List(t.Context(), list, client.InNamespace(obj.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.Name == obj.GetName() {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// report writes a report on the Application as the cluster's work agent would.
func report(t *testing.T, app *argocd.Application, b *fixture.FeedbackBuilder) {
	t.Helper()
	reportOf(t, expectWork(t, app), b)
}

// reportHeld writes a report without waiting for the work, because the work may contain an operation.
func reportHeld(t *testing.T, app *argocd.Application, b *fixture.FeedbackBuilder) {
	t.Helper()
	reportOf(t, workOf(t, app), b)
}

func reportOf(t *testing.T, w *workv1.ManifestWork, b *fixture.FeedbackBuilder) {
	t.Helper()
	played.reports.Store(client.ObjectKeyFromObject(w), b.Obj())
	editStatus(t, w, func(w *workv1.ManifestWork) {
		fixture.Report(w, fixture.OnlyRequested(w, b.Obj()))
	})
}

// seen marks a work as seen by its agent.
func seen(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	edit(t, w, func(w *workv1.ManifestWork) { w.Finalizers = []string{agentFinalizer} })
}

// release acts as the agent on a deleted work whose objects have left the cluster.
func release(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	edit(t, w, func(w *workv1.ManifestWork) { w.Finalizers = nil })
}

// applied reports that the agent has applied the work, and has read the finalizers on the cluster. If the work asks for
// the remaining finalizers, the report contains the finalizers of the work, and the foreign finalizers in others. The
// report contains no further values.
func applied(t *testing.T, w *workv1.ManifestWork, others ...string) {
	t.Helper()
	editStatus(t, w, func(w *workv1.ManifestWork) {
		for _, said := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
			meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
				Type: said, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: w.Generation,
			})
		}
		var held argocd.Application
		if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &held); err != nil {
			t.Fatal(err)
		}
		switch {
		case work.ReportsFinalizers(w):
			b := feedbackOf(&held).String("finalizersDropped", held.Annotations[apis.AnnotationFinalizersDropped])
			for _, finalizer := range slices.Concat(others, held.Finalizers) {
				_, form, _ := strings.Cut(finalizer, "/")
				if slices.Contains(argocd.DestructiveFinalizers, finalizer) {
					b.String(strings.TrimSuffix("finalizerLeft-"+form, "-"), finalizer)
				}
			}
			w.Status.ResourceStatus = b.Obj().ResourceStatus
		case len(w.Status.ResourceStatus.Manifests) == 0 && len(held.Finalizers) > 0:
			w.Status.ResourceStatus = feedbackOf(&held).Only("finalizer", held.Finalizers[0]).Obj().ResourceStatus
		}
	})
}

// feedbackOf returns a builder for a report on the Application.
func feedbackOf(app *argocd.Application) *fixture.FeedbackBuilder {
	return fixture.Feedback(work.Identifier(app))
}

// expectHealth waits until the hub Application shows the health.
func expectHealth(t *testing.T, app *argocd.Application, health string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return get(t, app).Status.Health.Status }, soon, tick).Should(Equal(health))
}

// remove deletes the Application as a user would.
func remove(t *testing.T, app *argocd.Application) {
	t.Helper()
	if err := k8s.Delete(t.Context(), app.DeepCopy()); err != nil {
		t.Fatal(err)
	}
}

// expectGone waits until the hub has deleted the Application.
func expectGone(t *testing.T, app *argocd.Application) {
	t.Helper()
	NewWithT(t).Eventually(func() *argocd.Application { return get(t, app.DeepCopy()) }, soon, tick).Should(BeNil())
}

package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// unlabel removes the pull label, and completes the release.
func unlabel(t *testing.T, app *argocd.Application) {
	t.Helper()
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	applied(t, expectReleasing(t, app))
	end(t, workOf(t, app))
	expectNotice(t, app, apis.ConditionReleaseWarning, "while the label "+apis.LabelPull+" is missing")
	settled(t)
}

// TestDeletedAfterItsLabelWasLost: no other controller removes the finalizers from an Application that the hub's Argo
// CD skips.
func TestDeletedAfterItsLabelWasLost(t *testing.T) {
	towline, whole := start(t), t
	for _, title := range []string{"at work", "while Towline is down"} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources, apis.FinalizerPostDelete, "example.com/mine").Obj()
			create(t, app)
			atWork(t, app)
			unlabel(t, app)
			if title != "at work" {
				towline.stop()
			}
			remove(t, app)
			if title != "at work" {
				towline = start(whole)
			}
			NewWithT(t).Eventually(func() []string { return get(t, app).Finalizers }, soon, tick).Should(Equal([]string{"example.com/mine"}))
			edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
			expectGone(t, app)
			expectUncounted(t, app.Namespace)
		})
	}
}

// TestForcedAfterItsLabelWasLost: force-delete deletes the hub's Application, and the release continues.
func TestForcedAfterItsLabelWasLost(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	atWork(t, app)
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	w := expectReleasing(t, app)
	availability(t, get(t, managedCluster(app.Cluster())), metav1.ConditionUnknown, "lost")
	remove(t, app)
	expectNotice(t, app, apis.ConditionReleaseWarning, "set the annotation "+apis.AnnotationForceDelete)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
	expectGone(t, app)
	NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonDeletedUnconfirmed))
	expectKept(t, w)
	applied(t, w)
	expectDeleting(t, w)
	end(t, w)
	expectUncounted(t, app.Namespace)
}

// TestApplicationsOfOthersAreLeftAlone: Towline does not change Applications without a request for a cluster, or
// Applications of the hub's own Argo CD.
func TestApplicationsOfOthersAreLeftAlone(t *testing.T) {
	start(t)
	for title, change := range map[string]func(*fixture.ApplicationBuilder){
		"of the hub's own Argo CD": func(b *fixture.ApplicationBuilder) { b.NoAnnotation(apis.AnnotationSkipReconcile) },
		"of someone else":          func(b *fixture.ApplicationBuilder) { b.NoAnnotation(apis.AnnotationCluster) },
		"that the label denies": func(b *fixture.ApplicationBuilder) {
			b.NoAnnotation(apis.AnnotationCluster).Label(apis.LabelPull, "false")
		},
	} {
		t.Run(title, func(t *testing.T) {
			b := application(t, cluster(t)).Finalizers(apis.FinalizerResources)
			change(b)
			app := b.Obj()
			if app.Labels[apis.LabelPull] == "true" {
				delete(app.Labels, apis.LabelPull)
			}
			create(t, app)
			remove(t, app)
			settled(t)
			if got := get(t, app.DeepCopy()); got == nil || len(got.Finalizers) != 1 {
				t.Error("its finalizer was taken off")
			}
		})
	}
}

// TestNoOperationRunsForEverAfterARelease: after a release, the hub gets no report about the end of an operation.
func TestNoOperationRunsForEverAfterARelease(t *testing.T) {
	start(t)
	for _, slip := range []string{"the label is gone", "asked for"} {
		t.Run(slip, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			atWork(t, app)
			report(t, app, operationReport(app, "Running", "").String("resourceVersion", "1"))
			g := NewWithT(t)
			g.Eventually(func() *argocd.OperationState { return get(t, app).Status.OperationState }, soon, tick).
				Should(HaveField("Phase", "Running"))
			edit(t, app, slips[slip])
			applied(t, expectReleasing(t, app))
			end(t, workOf(t, app))
			g.Eventually(func() *argocd.OperationState { return get(t, app).Status.OperationState }, soon, tick).Should(BeNil())
			expectNotice(t, app, apis.ConditionReleaseWarning, "released")
			settled(t)
			now := &argocd.Application{}
			g.Expect(k8s.Get(t.Context(), client.ObjectKeyFromObject(app), now)).To(Succeed())
			g.Expect(now.Status.OperationState).To(BeNil())
			g.Expect(now.Status.Health.Status).To(Equal("Healthy"))
		})
	}
}

// TestTakenOverByTheHubsOwnArgoCD: an Application of the hub's own Argo CD no longer shows its release.
func TestTakenOverByTheHubsOwnArgoCD(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	atWork(t, app)
	unlabel(t, app)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) })
	expectNoNotice(t, app, apis.ConditionReleaseWarning)
}

// TestDeletionLeftToTheHubsOwnArgoCD: the condition names the hub's own Argo CD, and the user's next step on a hub
// without an Argo CD.
func TestDeletionLeftToTheHubsOwnArgoCD(t *testing.T) {
	start(t)
	for title, sent := range map[string]bool{"never sent": false, "sent": true} {
		t.Run(title, func(t *testing.T) {
			b := application(t, cluster(t)).Finalizers(apis.FinalizerResources)
			if !sent {
				b.NoAnnotation(apis.AnnotationSkipReconcile)
			}
			app := b.Obj()
			create(t, app)
			if sent {
				atWork(t, app)
				edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) })
				expectReleasing(t, app)
			}
			expectProblem(t, app, apis.ReasonSkipReconcileMissing, apis.AnnotationSkipReconcile)
			remove(t, app)
			expectNotice(t, app, apis.ConditionDeletionWarning, "the hub's own Argo CD has to remove the finalizers")
			if sent { // the release continues
				expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for the work agent of cluster "+app.Cluster())
				applied(t, workOf(t, app))
				expectDeleting(t, workOf(t, app))
				end(t, workOf(t, app))
			}
			settled(t)
			if len(get(t, app).Finalizers) != 1 {
				t.Fatal("the finalizer was taken off: what the hub's Argo CD deployed is orphaned")
			}
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationSkipReconcile] = "true" })
			expectGone(t, app)
		})
	}
}

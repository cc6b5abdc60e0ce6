package envtest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// unmarked returns a work for the Application as the first pull controllers created works: without a label.
func unmarked(app *argocd.Application) *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name = work.Key(app).Namespace, work.Key(app).Name
	w.Finalizers = []string{agentFinalizer}
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook","namespace":"argocd"},"spec":{}}`)}}}
	return w
}

// TestFinalizersOfTheHubsOwnArgoCD: an Application of the hub's own Argo CD keeps its finalizer.
func TestFinalizersOfTheHubsOwnArgoCD(t *testing.T) {
	start(t)
	for title, edit := range map[string]func(*fixture.ApplicationBuilder){
		"the label says false": func(b *fixture.ApplicationBuilder) {
			b.Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationSkipReconcile)
		},
		"skip-reconcile absent": func(b *fixture.ApplicationBuilder) { b.NoAnnotation(apis.AnnotationSkipReconcile) },
	} {
		t.Run(title, func(t *testing.T) {
			b := application(t, cluster(t)).Finalizers(apis.FinalizerResources)
			edit(b)
			app := b.Obj()
			create(t, app)
			settled(t)
			remove(t, app)
			settled(t)
			if got := get(t, app.DeepCopy()); got == nil || len(got.Finalizers) != 1 {
				t.Error("the finalizer was taken off: what the hub's Argo CD deployed is orphaned")
			}
		})
	}
}

func TestDeletionWithAnUnmarkedWork(t *testing.T) {
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	old := unmarked(app)
	create(t, old)
	remove(t, app)
	start(t)
	// The Application on the cluster has no finalizer, and the hub's finalizer requests a cascade.
	NewWithT(t).Eventually(func() string { return string(get(t, old).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(ContainSubstring(apis.FinalizerResources))
	applied(t, old)
	expectDeleting(t, old)
	release(t, old)
	expectGone(t, app)
}

func TestUnmarkedWorkThatIsGoing(t *testing.T) {
	app := application(t, cluster(t)).Obj()
	create(t, app)
	old := unmarked(app)
	create(t, old)
	if err := k8s.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	start(t)
	settled(t)
	release(t, old)
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "look again" })
	if w := expectWork(t, app); w.UID == old.UID {
		t.Error("it is still the old one")
	}
}

// TestLabelTakenOffThenDeleted: Towline no longer watches the Application, and still notices the deletion.
func TestLabelTakenOffThenDeleted(t *testing.T) {
	start(t)
	for title, finalizers := range map[string][]string{"without finalizer": nil, "with it": {apis.FinalizerResources}} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(finalizers...).Obj()
			create(t, app)
			applied(t, expectWork(t, app))
			edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
			w := expectReleasing(t, app)
			remove(t, app)
			applied(t, w)
			expectNoWork(t, app)
			expectGone(t, app)
			expectUncounted(t, app.Namespace)
		})
	}
}

// TestDeletedThenItsLabelTakenOff: the deletion continues, and the metrics do not count the Application afterwards.
func TestDeletedThenItsLabelTakenOff(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := expectWork(t, app)
	seen(t, w)
	applied(t, w)
	remove(t, app)
	expectDeleting(t, w)
	expectCounted(t, app.Namespace, "deleting", "", 1)
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	release(t, w)
	expectGone(t, app)
	expectUncounted(t, app.Namespace)
}

// TestAForeignWorkWithTheVictimsMarks: a cluster's agent may mark any work of its namespace. The marks neither delete
// the work nor delay the Application of a different cluster.
func TestAForeignWorkWithTheVictimsMarks(t *testing.T) {
	start(t)
	victim := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, victim)
	expectWork(t, victim)
	foreign := unmarked(victim)
	foreign.Namespace, foreign.Name = cluster(t).Name, "addon-x"
	foreign.Labels = map[string]string{apis.LabelPull: "true"}
	foreign.Annotations = map[string]string{apis.AnnotationHubNamespace: victim.Namespace, apis.AnnotationHubName: victim.Name}
	create(t, foreign)
	settled(t)
	remove(t, victim)
	expectGone(t, victim)
	settled(t)
	if got := get(t, foreign.DeepCopy()); got == nil || !got.DeletionTimestamp.IsZero() {
		t.Error("a work that Towline did not make was deleted")
	}
}

// TestMoveShowsTheNewCluster: the status from the old cluster is replaced when the new cluster has reported.
func TestMoveShowsTheNewCluster(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a").String("conditionSyncError", "x"))
	expectHealth(t, app, "Healthy")
	to := cluster(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectWork(t, app)
	report(t, app, feedbackOf(app))
	NewWithT(t).Eventually(func() argocd.Status {
		status := get(t, app).Status
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c argocd.Condition) bool { return c.Type == apis.ConditionMoveWarning })
		return status
	}, soon, tick).Should(BeComparableTo(argocd.Status{}, cmpopts.EquateEmpty()))
}

func TestAdoptionBlanksNothing(t *testing.T) {
	app := application(t, cluster(t)).Obj()
	app.Status = argocd.Status{
		Health: argocd.Health{Status: "Progressing"},
		Sync:   &argocd.Sync{Status: "Synced", Revision: "a"},
		OperationState: &argocd.OperationState{
			Phase: "Succeeded", StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:07Z", Message: "m"},
		Conditions: []argocd.Condition{{Type: "SyncError", Message: "real"}},
	}
	create(t, app)
	old := unmarked(app)
	old.Finalizers = nil
	create(t, old)
	// An agent's report by the five rules of an older controller. The agent marks the report as complete.
	editStatus(t, old, func(old *workv1.ManifestWork) {
		old.Status = feedbackOf(app).Obj()
		values := &old.Status.ResourceStatus.Manifests[0].StatusFeedbacks
		values.Values = feedbackOf(app).String("healthStatus", "Healthy").String("syncStatus", "Synced").Obj().
			ResourceStatus.Manifests[0].StatusFeedbacks.Values[1:]
	})
	start(t)
	expectHealth(t, app, "Healthy")
	if s := get(t, app).Status; s.OperationState == nil || s.OperationState.FinishedAt == "" || len(s.Conditions) == 0 {
		t.Errorf("what was not asked for was blanked: %+v", s)
	}
}

func TestProblemsEndWhenTheLabelSaysFalse(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).NoAnnotation(apis.AnnotationSkipReconcile).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonSkipReconcileMissing, "")
	edit(t, app, func(a *argocd.Application) { a.Labels[apis.LabelPull] = "false" })
	expectNoProblem(t, app)
}

// TestTwoApplicationsOneTarget: the first Application keeps the target. The second gets the target after the deletion
// of the first.
func TestTwoApplicationsOneTarget(t *testing.T) {
	start(t)
	c := cluster(t)
	first := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, first)
	w := expectWork(t, first)
	second := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, second)
	expectProblem(t, second, apis.ReasonTargetConflict, first.Namespace+"/"+first.Name)
	if workOf(t, second) != nil {
		t.Error("two works carry the same Application to one cluster")
	}
	settled(t)
	if got := failuresIn(second.Namespace); len(got) > 0 {
		t.Errorf("a mistake of a user's counts as a failure: %s", got)
	}
	edit(t, first, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	if got := expectWork(t, first); got.UID != w.UID {
		t.Error("the first lost its work")
	}
	expectNoProblem(t, first)
	remove(t, first)
	expectWork(t, second)
	expectNoProblem(t, second)
}

// TestAReleasedApplicationKeepsNoTarget: after a release is taken back, the first Application must wait for the target.
func TestAReleasedApplicationKeepsNoTarget(t *testing.T) {
	start(t)
	c := cluster(t)
	first := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, first)
	w := expectWork(t, first)
	seen(t, w)
	second := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, second)
	expectProblem(t, second, apis.ReasonTargetConflict, first.Namespace+"/"+first.Name)
	edit(t, first, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	w = expectReleasing(t, first)
	settled(t)
	if workOf(t, second) != nil {
		t.Fatal("it was sent to a place that another still has")
	}
	applied(t, w)
	release(t, workOf(t, first))
	expectWork(t, second)
	expectNoProblem(t, second)

	edit(t, first, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationRelease) })
	expectProblem(t, first, apis.ReasonTargetConflict, second.Namespace+"/"+second.Name)
	if workOf(t, first) != nil {
		t.Error("two works carry the same Application to one cluster")
	}
}

// TestATargetIsNotTakenByAChangeOfNamespace: a work for a different namespace of the cluster gives no right to a
// target.
func TestATargetIsNotTakenByAChangeOfNamespace(t *testing.T) {
	start(t)
	c := cluster(t)
	decoy := application(t, c).Obj()
	create(t, decoy)
	expectWork(t, decoy)
	first := application(t, c).Annotation(apis.AnnotationAppNamespace, "shared").Obj()
	create(t, first)
	w := expectWork(t, first)
	edit(t, decoy, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "shared" })
	expectProblem(t, decoy, apis.ReasonTargetConflict, first.Namespace+"/"+first.Name)
	if got := expectWork(t, first); got.UID != w.UID {
		t.Error("the first lost its work")
	}
	expectNoProblem(t, first)
}

// TestATargetIsNotFreedBeforeTheRemoval: otherwise the agent would overwrite the leaving Application with the new
// Application.
func TestATargetIsNotFreedBeforeTheRemoval(t *testing.T) {
	start(t)
	c := cluster(t)
	first := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Finalizers(apis.FinalizerResources).Obj()
	create(t, first)
	seen(t, expectWork(t, first))
	report(t, first, feedbackOf(first).Healthy("a"))
	second := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, second)
	expectProblem(t, second, apis.ReasonTargetConflict, first.Namespace+"/"+first.Name)

	edit(t, first, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	expectProblem(t, second, apis.ReasonTargetConflict, "after the removal of the other Application")
	applied(t, expectStaying(t, first, "argocd"))
	expectWork(t, first)
	settled(t)
	if workOf(t, second) != nil {
		t.Fatal("it was sent before the agent was heard to have left the place")
	}
	report(t, first, feedbackOf(first).Healthy("a"))
	expectWork(t, second)
	expectNoProblem(t, second)
}

// TestTheHubAsACluster: Towline does not overwrite an Application on the hub that no work delivered.
func TestTheHubAsACluster(t *testing.T) {
	start(t)
	c := cluster(t, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} })
	b := application(t, c)
	there := application(t, c).Label(apis.LabelPull, "false").Obj()
	create(t, there)
	app := b.Annotation(apis.AnnotationAppNamespace, there.Namespace).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonLocalClusterConflict, there.Namespace+"/"+there.Name)
	if workOf(t, app) != nil {
		t.Error("it was sent all the same")
	}
	remove(t, there)
	expectGone(t, there)
	expectWork(t, app)
}

// TestAWorkDeletedDuringAnUpdate: a work that is deleted during an update is not reported as a problem of the cluster's
// namespace.
func TestAWorkDeletedDuringAnUpdate(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	for i := range 20 {
		w := expectWork(t, app)
		deleted := make(chan error)
		go func() { deleted <- k8s.Delete(t.Context(), w) }()
		edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = metav1.Now().String() + string(rune('a'+i)) })
		if err := <-deleted; err != nil {
			t.Fatal(err)
		}
	}
	expectWork(t, app)
	// Events arrive with a delay: an event of a new problem comes after the events of earlier problems.
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) })
	expectProblem(t, app, apis.ReasonSkipReconcileMissing, "")
	NewWithT(t).Expect(eventReasons(t, app)).NotTo(ContainElement(apis.ReasonClusterNamespaceMissing))
}

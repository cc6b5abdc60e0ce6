package envtest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// conflict is the message of the work agent (v1.2.0) if the agent may not overwrite the fields of another manager.
const conflict = `Failed to apply manifest: Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" ` +
	`using argoproj.io/v1alpha1: .spec.source.path`

// expectClaim waits until the Application's work has the update mode. The mode decides about an Application that exists
// on the cluster already.
func expectClaim(t *testing.T, app *argocd.Application, want work.UpdateMode) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func(g Gomega) {
		w = workOf(t, app)
		g.Expect(w).NotTo(BeNil())
		g.Expect(work.UpdateModeOf(w)).To(Equal(want))
	}, soon, tick).Should(Succeed())
	return w
}

// TestAdoptionMatching: a new work overwrites nothing. After a successful apply, Towline does not write the work only
// to change the update mode. The next change of the work includes the new mode.
func TestAdoptionMatching(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	w := expectClaim(t, app, work.Apply)
	report(t, app, feedbackOf(app).String("healthStatus", "Healthy").Compared(""))
	expectHealth(t, app, "Healthy")
	settled(t)
	if got := workOf(t, app); got.Generation != w.Generation {
		t.Errorf("the work was written again: %+v", got.Spec.ManifestConfigs[0].UpdateStrategy)
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	expectClaim(t, app, work.ForceApply)
	expectWork(t, app)
}

// refuses lets the work agent refuse the Application's work. The agent then answers the question about the owner of the
// Application on the cluster with the values.
func refuses(t *testing.T, app *argocd.Application, values ...string) {
	t.Helper()
	refused := func() *fixture.FeedbackBuilder {
		return feedbackOf(app).Condition(workv1.WorkApplied, metav1.ConditionFalse, conflict).String("syncStatus", "Synced")
	}
	report(t, app, refused())
	NewWithT(t).Eventually(func() bool { return work.AsksOrigin(workOf(t, app)) }, soon, tick).Should(BeTrue())
	answer := refused()
	for i := 0; i+1 < len(values); i += 2 {
		answer.String(values[i], values[i+1])
	}
	report(t, app, answer)
}

// TestEditedOnTheCluster: Towline reverts edits on the cluster to an Application that the work has delivered.
func TestEditedOnTheCluster(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectClaim(t, app, work.Apply)
	report(t, app, feedbackOf(app).String("healthStatus", "Healthy").Compared(""))
	expectHealth(t, app, "Healthy")
	refuses(t, app, "broughtOwner", strings.Repeat("a", 64)+"-"+work.Name(get(t, app)))
	applied(t, expectClaim(t, app, work.ForceApply))
	expectNoProblem(t, app)
}

// TestAdoptionRefused: a different Application on the cluster stays until a user permits the adoption.
func TestAdoptionRefused(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	refuses(t, app)
	expectProblem(t, app, apis.ReasonAdoptionRefused, `conflict with "kubectl-client-side-apply" using argoproj.io/v1alpha1: .spec.source.path`)
	expectProblem(t, app, apis.ReasonAdoptionRefused, apis.AnnotationAdopt)

	request(t, app, `{"sync":{}}`)
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	w := expectWork(t, app)
	if work.UpdateModeOf(w) != work.Apply || strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"operation"`) {
		t.Errorf("what is not Towline's got %+v", w.Spec)
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAdopt] = apis.AdoptAlways })
	applied(t, expectClaim(t, app, work.ForceApply))
	expectNoProblem(t, app)
}

// TestAdoptionNever: Towline sends nothing before the agent has checked the cluster. If an Application exists on the
// cluster, Towline sends nothing at all.
func TestAdoptionNever(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Adopt = apis.AdoptNever })
	app := application(t, cluster(t)).Annotation(apis.AnnotationAdopt, apis.AdoptAlways).Obj()
	create(t, app)
	expectClaim(t, app, work.ReadOnly)
	reportHeld(t, app, feedbackOf(app).Healthy("a"))
	expectProblem(t, app, apis.ReasonAdoptionRefused, "delete the Application on the cluster")
	request(t, app, `{"sync":{}}`)
	settled(t)
	if w := workOf(t, app); strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"operation"`) {
		t.Error("what is not Towline's was asked to sync")
	}
	reportHeld(t, app, feedbackOf(app).Condition(workv1.WorkAvailable, metav1.ConditionFalse, "Resource is not available"))
	expectClaim(t, app, work.Apply)
	expectNoProblem(t, app)
}

// TestAdoptionOfADeliveredApplicationIsNotNeeded: no adoption is necessary for an Application that Towline or an older
// controller has delivered.
func TestAdoptionOfADeliveredApplicationIsNotNeeded(t *testing.T) {
	towline := start(t)
	c := cluster(t)
	b := application(t, c)
	first := b.Obj()
	create(t, first)
	applied(t, expectWork(t, first))
	towline.stop()
	remove(t, first)
	second := b.Obj()
	create(t, second)
	older := application(t, c).Obj()
	create(t, older)
	w, err := work.Render(older, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	w.Spec.ManifestConfigs = nil
	create(t, w)
	start(t)
	expectClaim(t, second, work.ForceApply)
	expectWork(t, older)
	expectClaim(t, older, work.ForceApply)
}

// TestReleaseOfAnApplicationThatWasNotAdopted: the release of an Application that was not adopted does not change the
// Application on the cluster.
func TestReleaseOfAnApplicationThatWasNotAdopted(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	refuses(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	expectClaim(t, app, work.CreateOnly)
	expectReleasing(t, app)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationRelease) })
	expectClaim(t, app, work.Apply)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	applied(t, expectReleasing(t, app))
	expectNoWork(t, app)
}

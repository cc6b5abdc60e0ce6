package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// going creates a ManagedCluster with a pending deletion for the time of the test.
func going(t *testing.T) *clusterv1.ManagedCluster {
	t.Helper()
	c := cluster(t, func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"example.com/detaching"} })
	if err := k8s.Delete(t.Context(), c.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDeletionAfterAChangeOfTarget: the hub's Application is deleted only after its cluster has removed the
// Application, even if the annotation names a different target by then.
func TestDeletionAfterAChangeOfTarget(t *testing.T) {
	start(t)
	for title, target := range map[string]func(*testing.T) string{
		"a name that no cluster has": func(*testing.T) string { return unique("mistyped") },
		"no name":                    func(*testing.T) string { return "A/B" },
		"one that is being deleted":  func(t *testing.T) string { return going(t).Name },
		"one that is not accepted": func(t *testing.T) string {
			return cluster(t, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false }).Name
		},
	} {
		t.Run(title, func(t *testing.T) {
			c, other := cluster(t), target(t)
			app := application(t, c).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := atWork(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = other })
			remove(t, app)
			expectDeleting(t, w)
			expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+c.Name+" to remove")
			availability(t, get(t, c), metav1.ConditionUnknown, "lost")
			expectNotice(t, app, apis.ConditionDeletionWarning, "cluster "+c.Name+" has not been available since")
			expectNotice(t, app, apis.ConditionDeletionWarning, "set the annotation "+apis.AnnotationForceDelete)
			settled(t)
			if get(t, app.DeepCopy()) == nil {
				t.Fatal("the hub says gone while the cluster still has the Application")
			}
			release(t, w)
			expectGone(t, app)
		})
	}
}

// TestDeletionAfterTheTargetWasEmptied: the cluster with the Application must release the Application before the
// deletion on the hub.
func TestDeletionAfterTheTargetWasEmptied(t *testing.T) {
	start(t)
	c := cluster(t)
	app := application(t, c).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	there := app.DeepCopy()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "" })
	expectReleasing(t, there)
	availability(t, get(t, c), metav1.ConditionUnknown, "lost")
	remove(t, app)
	expectNotice(t, app, apis.ConditionReleaseWarning, "waiting for the work agent of cluster "+c.Name)
	expectNotice(t, app, apis.ConditionReleaseWarning, "set the annotation "+apis.AnnotationForceDelete)
	settled(t)
	if get(t, app.DeepCopy()) == nil {
		t.Fatal("the hub says gone while the cluster still has the Application")
	}
	applied(t, get(t, w))
	expectDeleting(t, w)
	end(t, w)
	expectGone(t, app)
}

// TestDeletionWhileTwoClustersHaveTheApplication: Towline judges each cluster separately. The hub's Application is
// deleted after the last cluster has confirmed or is given up.
func TestDeletionWhileTwoClustersHaveTheApplication(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	app := application(t, from).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	old := atWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	w := atWork(t, app)
	remove(t, app)
	expectNotice(t, app, apis.ConditionDeletionWarning, from.Name)
	expectNotice(t, app, apis.ConditionDeletionWarning, to.Name)
	edit(t, to, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+from.Name+" to remove")
	release(t, w)
	settled(t)
	if get(t, app.DeepCopy()) == nil {
		t.Fatal("the hub says gone while the old cluster still has the Application")
	}
	edit(t, from, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	expectGone(t, app) // the old cluster, without the annotation, is given up in the same way
	NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonDeletedUnconfirmed))
	expectDeleting(t, old)
}

// TestConditionNamesAPausedSource: the condition names the paused source cluster, and Towline notices the end of the
// pause.
func TestConditionNamesAPausedSource(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	app := application(t, from).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	old := atWork(t, app)
	annotate(t, from, "true")
	expectNotice(t, app, apis.ConditionPausedWarning, "Namespace "+from.Name)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	applied(t, expectWork(t, app))
	expectNotice(t, app, apis.ConditionMoveWarning, from.Name+" keeps the Application")
	report(t, app, feedbackOf(app).Healthy("a"))
	expectNotice(t, app, apis.ConditionPausedWarning, "Namespace "+from.Name)
	expectNoNotice(t, app, apis.ConditionMoveWarning)
	remove(t, app)
	expectNotice(t, app, apis.ConditionPausedWarning, "Namespace "+from.Name)
	annotate(t, from, "")
	expectDeleting(t, old)
	release(t, old)
	expectGone(t, app)
}

// TestMoveThatWaitsNamesThePresentCluster: while the next cluster cannot take the Application, the condition names the
// present cluster.
func TestMoveThatWaitsNamesThePresentCluster(t *testing.T) {
	start(t)
	from, to := cluster(t), going(t)
	app := application(t, from).Obj()
	create(t, app)
	expectWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectProblem(t, app, apis.ReasonClusterDeleting, "until then, cluster "+from.Name+" keeps the Application")
}

// TestMissingDuringADeletionIsNoWarning: an agent that does not find an Application during its deletion causes no
// warning.
func TestMissingDuringADeletionIsNoWarning(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	remove(t, app)
	expectDeleting(t, w)
	reportHeld(t, app, feedbackOf(app).String("healthStatus", "Missing").Condition(workv1.WorkAvailable, metav1.ConditionFalse, "not found"))
	expectHealth(t, app, "Missing")
	if m, there := condition(t, app, apis.ConditionWorkAvailableWarning); there {
		t.Errorf("it says %q", m)
	}
}

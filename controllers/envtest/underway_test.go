package envtest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// busy creates an Application with an operation on its cluster that the hub did not request.
func busy(t *testing.T, c *clusterv1.ManagedCluster, finalizers ...string) (*argocd.Application, *workv1.ManifestWork) {
	t.Helper()
	app := application(t, c).Finalizers(finalizers...).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	report(t, app, operationReport(app, "Running", ""))
	NewWithT(t).Eventually(func() bool { return get(t, app).Status.OperationState != nil }, soon, tick).Should(BeTrue())
	return app, workOf(t, app)
}

// terminate requests a termination of the operation on the hub, as Argo CD does.
func terminate(t *testing.T, app *argocd.Application) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Terminating" })
}

// expectTermination waits until a work contains a termination for the version.
func expectTermination(t *testing.T, w *workv1.ManifestWork, version string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return string(get(t, w.DeepCopy()).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(And(ContainSubstring(`"phase":"Terminating"`), ContainSubstring(`"resourceVersion":"`+version+`"`)))
}

// reportThere writes the report of a work's agent on the Application, even if the Application now names a different
// cluster.
func reportThere(t *testing.T, app *argocd.Application, w *workv1.ManifestWork, phase, version string) {
	t.Helper()
	there := app.DeepCopy()
	there.Annotations[apis.AnnotationCluster] = w.Namespace
	reportHeld(t, there, operationReport(there, phase, "").String("resourceVersion", version))
}

// backInPlace waits until the work contains the Application instead of a request, and lets the agent apply the work.
// Before this apply, the finalizers on the cluster are unknown.
func backInPlace(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	NewWithT(t).Eventually(func() bool { return work.CarriesRequest(get(t, w)) }, soon, tick).Should(BeFalse())
	expectKept(t, w)
	applied(t, get(t, w))
}

// TestDeletionDuringAnOperation: Argo CD acts on finalizers only after the end of the operation, and the agent no
// longer applies a work that is being deleted.
func TestDeletionDuringAnOperation(t *testing.T) {
	start(t)
	c := cluster(t)
	app, w := busy(t, c, apis.FinalizerResources)
	remove(t, app)
	expectNotice(t, app, apis.ConditionDeletionWarning, "an operation runs on cluster "+c.Name)
	expectNotice(t, app, apis.ConditionDeletionWarning, "kubectl -n "+app.Namespace+" patch applications.argoproj.io guestbook")
	request(t, app, `{"sync":{}}`) // must not start any more
	expectKept(t, w)
	if got := carried(t, app); got != "" {
		t.Errorf("%s was sent", got)
	}

	terminate(t, app)
	expectTermination(t, w, "1")
	expectNotice(t, app, apis.ConditionDeletionWarning, "the operation was asked to stop")
	refused(t, app, modified)
	expectKept(t, w)
	reportThere(t, app, w, "Running", "2")
	expectTermination(t, w, "2")
	reportThere(t, app, w, "Failed", "3")
	backInPlace(t, w)
	expectDeleting(t, w)
	expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+c.Name)
	NewWithT(t).Eventually(func() string { m, _ := condition(t, app, apis.ConditionDeletionWarning); return m }, soon, tick).
		ShouldNot(ContainSubstring("operation"))
	release(t, w)
	expectGone(t, app)
}

// TestDeletionThatAnOperationDoesNotHold: the deletion is forced, or no operation remains, or the cluster cannot
// answer.
func TestDeletionThatAnOperationDoesNotHold(t *testing.T) {
	start(t)
	t.Run("forced", func(t *testing.T) {
		app, w := busy(t, cluster(t), apis.FinalizerResources)
		edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
		remove(t, app)
		expectDeleting(t, w)
		expectGone(t, app)
	})
	t.Run("the cluster is not heard of", func(t *testing.T) {
		c := cluster(t)
		app, w := busy(t, c, apis.FinalizerResources)
		remove(t, app)
		expectNotice(t, app, apis.ConditionDeletionWarning, "an operation runs")
		availability(t, c, metav1.ConditionUnknown, "lease")
		expectDeleting(t, w)
		expectNotice(t, app, apis.ConditionDeletionWarning, "has not been available")
	})
	t.Run("the ManagedCluster goes", func(t *testing.T) {
		c := cluster(t, func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"example.com/hold"} })
		app, w := busy(t, c, apis.FinalizerResources)
		remove(t, app)
		expectKept(t, w)
		if err := k8s.Delete(t.Context(), c.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		expectDeleting(t, w)
		expectGone(t, app)
		edit(t, c, func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
	})
	t.Run("no finalizer", func(t *testing.T) {
		app, w := busy(t, cluster(t))
		remove(t, app)
		expectGone(t, app)
		applied(t, expectAsking(t, w))
		expectDeleting(t, w)
	})
	t.Run("the Application is not there any more", func(t *testing.T) {
		app, w := busy(t, cluster(t), apis.FinalizerResources)
		remove(t, app)
		expectNotice(t, app, apis.ConditionDeletionWarning, "an operation runs")
		reportHeld(t, app, operationReport(app, "Running", "").Condition(workv1.WorkAvailable, metav1.ConditionFalse, "not found"))
		applied(t, expectAsking(t, w)) // the Application is sent once more, with the finalizer that deletes the workload
		expectDeleting(t, w)
	})
	t.Run("another Application's on the cluster", func(t *testing.T) {
		app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
		create(t, app)
		seen(t, expectWork(t, app))
		other := app.DeepCopy()
		other.Namespace = "elsewhere"
		report(t, app, operationReport(other, "Running", ""))
		remove(t, app)
		w := workOf(t, app)
		applied(t, expectAsking(t, w))
		expectDeleting(t, w)
	})
}

// TestDeletionAfterAReleaseDuringAnOperation: the work first delivers the final form of the cluster's Application, and
// then the termination.
func TestDeletionAfterAReleaseDuringAnOperation(t *testing.T) {
	towline := start(t)
	app, w := busy(t, cluster(t), apis.FinalizerResources)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	expectReleasing(t, app)
	towline.stop()
	edit(t, app, func(a *argocd.Application) {
		delete(a.Annotations, apis.AnnotationRelease)
		a.Status.OperationState.Phase = "Terminating"
	})
	remove(t, app)
	start(t)
	NewWithT(t).Eventually(func() bool { return work.Released(get(t, w)) }, soon, tick).Should(BeFalse())
	if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, apis.FinalizerResources) {
		t.Fatalf("what it deployed would stay: %s", raw)
	}
	reportThere(t, app, w, "Running", "1")
	expectTermination(t, w, "1")
}

// TestRevocationDuringAnOperation: the loss of a permission does not wait for the end of the operation.
func TestRevocationDuringAnOperation(t *testing.T) {
	start(t, deleting)
	s, w := ruled(t)
	report(t, s.app, operationReport(s.app, "Running", ""))
	s.forbid(t)
	expectDeleting(t, w)
}

// TestMoveDuringAnOperation: the old cluster finishes the operation first, for both orders of the move. The hub can
// stop the operation as long as the hub shows this operation.
func TestMoveDuringAnOperation(t *testing.T) {
	start(t)
	t.Run("old-first", func(t *testing.T) {
		from, to := cluster(t), cluster(t)
		app, old := busy(t, from, apis.FinalizerResources)
		edit(t, app, func(a *argocd.Application) {
			a.Annotations[apis.AnnotationMoveOrder], a.Annotations[apis.AnnotationCluster] = apis.MoveOldFirst, to.Name
		})
		expectNotice(t, app, apis.ConditionMoveWarning, "an operation runs on cluster "+from.Name)
		expectKept(t, old)
		terminate(t, app)
		expectTermination(t, old, "1")
		reportThere(t, app, old, "Failed", "2")
		backInPlace(t, old)
		expectDeleting(t, old)
		if workOf(t, app) != nil {
			t.Error("it runs on both")
		}
		release(t, old)
		expectWork(t, app)
	})
	t.Run("new-first", func(t *testing.T) {
		from, to := cluster(t), cluster(t)
		app, old := busy(t, from, apis.FinalizerResources)
		edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
		report(t, app, feedbackOf(app).Healthy("a").String("operationStateStartedAt", "2026-01-02T05:04:05Z"))
		expectNotice(t, app, apis.ConditionMoveWarning, "an operation runs on cluster "+from.Name)
		expectNotice(t, app, apis.ConditionMoveWarning, "terminate the operation on the cluster") // the hub shows the new cluster's operation
		expectKept(t, old)
		reportThere(t, app, old, "Succeeded", "2")
		expectDeleting(t, old)
	})
}

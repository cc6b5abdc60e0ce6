package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// destructive is a finalizer that a foreign manager sets on the cluster's Application.
const destructive = apis.FinalizerResources + "/foreground"

// expectAsking waits until a work asks for the remaining finalizers, and returns the work.
func expectAsking(t *testing.T, w *workv1.ManifestWork) *workv1.ManifestWork {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		now := get(t, w)
		return now != nil && work.ReportsFinalizers(now)
	}, soon, tick).Should(BeTrue(), "the work does not ask for the finalizers that are left")
	return w
}

// answeredUnread reports that the agent has applied the work, and has not read the requested fields yet.
func answeredUnread(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	editStatus(t, w, func(w *workv1.ManifestWork) {
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: w.Generation,
		})
	})
}

// TestAnOrphanThatForeignFinalizersHold: an orphaned work is deleted after the foreign finalizer has gone, and not
// before the agent has read the finalizers. An earlier deletion would destroy the workload.
func TestAnOrphanThatForeignFinalizersHold(t *testing.T) {
	start(t)
	for title, finalizers := range map[string][]string{"finalizer taken off": {apis.FinalizerResources}, "never had one": nil} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(finalizers...).Obj()
			create(t, app)
			w := atWork(t, app)
			dropped(t, app)
			answeredUnread(t, expectAsking(t, w))
			expectKept(t, w)
			if events := eventReasons(t, w); len(events) > 0 {
				t.Errorf("it is said why before that is known: %v", events)
			}
			applied(t, w, destructive)
			NewWithT(t).Eventually(func() []string { return eventReasons(t, w) }, soon, tick).Should(ContainElement(apis.ReasonRemovalRefused))
			expectKept(t, w)
			applied(t, get(t, w))
			expectDeleting(t, w)
		})
	}
}

// TestChangeOfNamespaceThatForeignFinalizersHold: the condition says what to do. Afterwards the move continues
// automatically, or the Application stays in its old namespace.
func TestChangeOfNamespaceThatForeignFinalizersHold(t *testing.T) {
	start(t)
	for title, takenBack := range map[string]bool{"taken off": false, "taken back": true} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := atWork(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
			applied(t, expectAsking(t, w), destructive)
			expectNotice(t, app, apis.ConditionMoveWarning, "a writer on cluster "+app.Cluster()+" gave the Application the finalizer "+destructive)
			expectNotice(t, app, apis.ConditionMoveWarning, "kubectl -n "+app.Namespace+" patch applications.argoproj.io "+app.Name)
			settled(t)
			if held, _ := work.Carried(workOf(t, app)); held.Namespace != app.Namespace {
				t.Fatal("what it deployed would be gone")
			}
			if takenBack {
				edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationAppNamespace) })
			} else {
				applied(t, get(t, w))
			}
			if held, _ := work.Carried(expectWork(t, app)); held.Namespace != app.ClusterNamespace() {
				t.Errorf("the work carries it to %s", held.Namespace)
			}
			expectNoNotice(t, app, apis.ConditionMoveWarning)
			if got := workOf(t, app); got.Generation != w.Generation+1 {
				t.Errorf("it took %d writes of the work", got.Generation-w.Generation)
			}
		})
	}
}

// TestMoveThatForeignFinalizersHold: the old cluster keeps the workload while the foreign finalizer exists.
func TestMoveThatForeignFinalizersHold(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	old, from := atWork(t, app), app.Cluster()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = cluster(t).Name })
	report(t, app, feedbackOf(app).Healthy("a"))
	applied(t, expectAsking(t, old), destructive)
	expectNotice(t, app, apis.ConditionMoveWarning, "a writer on cluster "+from+" gave the Application the finalizer "+destructive)
	expectKept(t, old)
	applied(t, get(t, old))
	expectDeleting(t, old)
}

// TestDeletionByPostDeleteFinalizersThatForeignFinalizersHold: without its resources finalizer, the hub's Application
// destroys nothing.
func TestDeletionByPostDeleteFinalizersThatForeignFinalizersHold(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerPostDelete).Obj()
	create(t, app)
	w := atWork(t, app)
	remove(t, app)
	applied(t, expectAsking(t, w), destructive)
	expectNotice(t, app, apis.ConditionDeletionWarning, "the finalizer "+destructive)
	expectKept(t, w)
	applied(t, get(t, w))
	expectDeleting(t, w)
}

// TestNoFinalizerShieldsFromRevocation: a foreign finalizer does not delay a revocation, because any writer of the
// cluster's Application could set one.
func TestNoFinalizerShieldsFromRevocation(t *testing.T) {
	start(t, deleting)
	s, _ := ruled(t)
	edit(t, s.app, func(a *argocd.Application) { a.Finalizers = nil })
	w := atWork(t, s.app)
	s.forbid(t)
	applied(t, expectAsking(t, w), destructive)
	expectDeleting(t, w)
}

// TestMoveDuringARequest: a request on its way contains no finalizers, and the cluster's Application still has its own
// finalizers.
func TestMoveDuringARequest(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	old := workOf(t, app)
	edit(t, app, func(a *argocd.Application) {
		a.Annotations[apis.AnnotationCluster], a.Finalizers = cluster(t).Name, nil
	})
	if held, ok := work.Carried(expectAsking(t, old)); !ok || len(held.Finalizers) > 0 {
		t.Fatalf("the work carries %+v", held)
	}
	expectKept(t, old)
	applied(t, get(t, old))
	expectDeleting(t, old)
}

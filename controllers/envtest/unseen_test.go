package envtest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// TestReleaseBeforeTheAgentHasSeenTheWork: Towline at once deletes the Application's work and the works of the
// dependencies, so a later agent finds no work. Only the work of the AppProject waits for the agent.
func TestReleaseBeforeTheAgentHasSeenTheWork(t *testing.T) {
	start(t)
	for title, slip := range slips {
		t.Run(title, func(t *testing.T) {
			app, keys := sentBeside(t)
			w, before := expectWork(t, app), app.DeepCopy()
			edit(t, app, slip)
			expectNoWork(t, before)
			NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonReleased))
			expectNote(t, app, "cluster "+w.Namespace+" did not get the Application")
			for _, key := range keys[1:] { // the AppProject's work waits for the agent, as after any deletion
				expectNoDependency(t, key)
			}
			expectDependency(t, keys[0], func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.ReleasedTo(w)).To(BeEmpty()) })
			if got := get(t, app); len(got.Finalizers) != 1 {
				t.Error("the hub's Application lost its finalizer")
			}
		})
	}
}

// seenBeforeItsEnd lets the agent see a work at the moment of Towline's delete request for an unseen work.
func seenBeforeItsEnd(t *testing.T, towline *running, w *workv1.ManifestWork) {
	t.Helper()
	there := w.DeepCopy() // the test reads into w in parallel
	seen := sync.OnceValue(func() error {
		patch := []byte(`{"metadata":{"finalizers":["` + agentFinalizer + `"]}}`)
		return k8s.Patch(t.Context(), there.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	})
	towline.writes.race(func(method, path string) {
		if method != http.MethodDelete || !strings.HasSuffix(path, "/"+there.Name) {
			return
		}
		if err := seen(); err != nil {
			t.Error(err)
		}
	})
}

// TestReleaseOfAWorkThatTheAgentJustGot: if the agent gets the work at the last moment, the release proceeds as usual.
func TestReleaseOfAWorkThatTheAgentJustGot(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := expectWork(t, app)
	seenBeforeItsEnd(t, towline, w)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	held := expectReleasing(t, app)
	if held.UID != w.UID || !held.DeletionTimestamp.IsZero() || len(held.Finalizers) != 1 {
		t.Fatalf("the agent did not come before: %+v", held.ObjectMeta)
	}
	applied(t, held)
	expectDeleting(t, held)
}

// TestRemovalOfAWorkThatTheAgentJustApplied: if the agent applies the work at the last moment, the removal proceeds as
// after any other end of the Application.
func TestRemovalOfAWorkThatTheAgentJustApplied(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	w := expectWork(t, app)
	seenBeforeItsEnd(t, towline, w)
	remove(t, app)
	expectAsking(t, w)
	if !w.DeletionTimestamp.IsZero() || len(w.Finalizers) != 1 {
		t.Fatalf("the agent did not come before: %+v", w.ObjectMeta)
	}
	applied(t, w)
	expectDeleting(t, w)
}

// TestReleaseOfARecreatedWork: the cluster may still have the Application of the previous work.
func TestReleaseOfARecreatedWork(t *testing.T) {
	start(t)
	app := madeAnew(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	if w := expectReleasing(t, app); !work.Released(w) || len(w.Status.Conditions) > 0 {
		t.Errorf("got %+v", w)
	}
	expectKept(t, workOf(t, app))
}

// madeAnew creates an Application with a report from its cluster, and replaces the work: the first work is deleted
// without the agent, and Towline creates a new work.
func madeAnew(t *testing.T) *argocd.Application {
	t.Helper()
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	before := workOf(t, app)
	if err := k8s.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return workOf(t, app) }, soon, tick).
		Should(And(Not(BeNil()), HaveField("UID", Not(Equal(before.UID)))))
	return app
}

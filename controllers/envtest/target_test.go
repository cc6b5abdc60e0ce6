package envtest_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// promptly is far less than the longest wait of an Application without a wake-up.
const promptly = 10 * time.Second

// TestAFreedTargetGoesToTheWaitingApplication: Towline wakes the waiting Application, however long the wait has been.
func TestAFreedTargetGoesToTheWaitingApplication(t *testing.T) {
	start(t)
	for title, leave := range map[string]func(*testing.T, *argocd.Application) (left func()){
		"deleted without a cascade": func(t *testing.T, first *argocd.Application) func() {
			w := workOf(t, first)
			dropped(t, first)
			applied(t, expectAsking(t, w))
			expectDeleting(t, w)
			return func() { release(t, w) }
		},
		"to another cluster": func(t *testing.T, first *argocd.Application) func() {
			w, to := workOf(t, first), cluster(t)
			edit(t, first, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
			report(t, first, feedbackOf(first).Healthy("a"))
			expectDeleting(t, w)
			return func() { release(t, w) }
		},
		"to another namespace there": func(t *testing.T, first *argocd.Application) func() {
			edit(t, first, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
			applied(t, expectStaying(t, first, "argocd"))
			expectWork(t, first)
			return func() { report(t, first, feedbackOf(first).Healthy("a")) }
		},
	} {
		t.Run(title, func(t *testing.T) {
			first := application(t, cluster(t)).Annotation(apis.AnnotationAppNamespace, "argocd").Finalizers(apis.FinalizerResources).Obj()
			create(t, first)
			seen(t, expectWork(t, first))
			report(t, first, feedbackOf(first).Healthy("a"))
			second := application(t, managedCluster(first.Cluster())).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
			create(t, second)

			left := leave(t, first)
			expectProblem(t, second, apis.ReasonTargetConflict, "after the removal of the other Application")
			waitsLong(t, second)
			if workOf(t, second) != nil {
				t.Fatal("it was sent before the place was left")
			}
			left()
			NewWithT(t).Eventually(func() *workv1.ManifestWork { return workOf(t, second) }, promptly, tick).ShouldNot(BeNil(), "it waits still")
			expectNoProblem(t, second)
		})
	}
}

// waitsLong makes Towline check a waiting Application until its wait interval is a minute.
func waitsLong(t *testing.T, app *argocd.Application) {
	t.Helper()
	for n := range 50 {
		edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = fmt.Sprint(n) })
	}
	settled(t)
}

package envtest_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// lostWith creates an Application with a work that the agent has seen. The Placement then drops the unavailable
// cluster, and the ApplicationSet deletes the Application.
func lostWith(t *testing.T) (l struct {
	cluster *clusterv1.ManagedCluster
	set     *unstructured.Unstructured
	builder *fixture.ApplicationBuilder
	app     *argocd.Application
	work    *workv1.ManifestWork
}) {
	t.Helper()
	c := cluster(t)
	b := application(t, c)
	ns := b.Obj().Namespace
	decide(t, ns, c)
	set := setFollowing(t, ns, "all")
	b.Finalizers(apis.FinalizerResources).ApplicationSet(set.GetName()).Owner(set.GetUID())
	app := b.Obj()
	create(t, app)
	w := expectWork(t, app)
	seen(t, w)
	availability(t, c, metav1.ConditionUnknown, "Registration agent stopped updating its lease.")
	decide(t, ns)
	remove(t, app)
	expectNotice(t, app, apis.ConditionDeletionWarning, "so the Placement does not choose the cluster")
	l.cluster, l.set, l.builder, l.app, l.work = c, set, b, app, w
	return l
}

// standing reports whether a work has no deletion timestamp.
func standing(t *testing.T, w *workv1.ManifestWork) bool {
	t.Helper()
	now := get(t, w.DeepCopy())
	return now != nil && now.DeletionTimestamp.IsZero()
}

// TestAnOutageDeletesNothing: an outage deletes nothing, also over a restart. The recreated Application takes over the
// work. The test runs with and without a watch of decisions.
func TestAnOutageDeletesNothing(t *testing.T) {
	for _, mode := range []string{grants.BindingOrPlacement, grants.Placement} {
		t.Run(mode, func(t *testing.T) {
			granted := func(o *controllers.Options) { o.Authorization.Clusters = mode }
			tow := start(t, granted)
			l := lostWith(t)
			c, app, w := l.cluster, l.app, l.work
			g := NewWithT(t)
			g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonHeldInOutage))
			tow.stop()
			tow = start(t, granted)
			g.Consistently(func() bool { return standing(t, w) }, 10*tick, tick).Should(BeTrue())

			spec := get(t, w.DeepCopy()).Spec
			availability(t, c, metav1.ConditionTrue, "")
			expectNotice(t, app, apis.ConditionDeletionWarning, "if the Placement does not choose the cluster before")
			decide(t, app.Namespace, c)
			expectGone(t, app)
			kept := get(t, w.DeepCopy())
			g.Expect(kept).To(And(HaveField("DeletionTimestamp", BeNil()), HaveField("Spec", spec)))
			g.Expect(kept.Annotations).To(HaveKey(apis.AnnotationReturnsBy))

			tow.stop()
			start(t, granted)
			g.Consistently(func() bool { return standing(t, w) }, 10*tick, tick).Should(BeTrue(), "its Application is to be made anew")
			second := l.builder.Obj()
			create(t, second)
			next := expectWork(t, second)
			g.Expect(standing(t, w)).To(BeTrue(), "the cluster's Application lost its only owner")
			applied(t, next)
			g.Eventually(func() bool { return standing(t, w) }, soon, tick).Should(BeFalse())
		})
	}
}

// TestARequestedDeletionDuringAnOutage: a deletion that a person requests continues at once.
func TestARequestedDeletionDuringAnOutage(t *testing.T) {
	start(t)
	for title, asks := range map[string]func(*argocd.Application, *unstructured.Unstructured){
		"by the annotation": func(app *argocd.Application, _ *unstructured.Unstructured) {
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationDeleteOnOutage] = "true" })
		},
		"by the end of the ApplicationSet": func(_ *argocd.Application, set *unstructured.Unstructured) {
			if err := k8s.Delete(t.Context(), set); err != nil {
				t.Fatal(err)
			}
		},
		"by another generator": func(_ *argocd.Application, set *unstructured.Unstructured) {
			edit(t, set, func(s *unstructured.Unstructured) {
				s.Object["spec"] = map[string]any{"generators": []any{map[string]any{"list": map[string]any{}}}}
			})
		},
	} {
		t.Run(title, func(t *testing.T) {
			l := lostWith(t)
			asks(l.app, l.set)
			NewWithT(t).Eventually(func() bool { return standing(t, l.work) }, soon, tick).Should(BeFalse())
			release(t, l.work)
			expectGone(t, l.app)
		})
	}
}

// TestAnOutageWithoutGrants: Towline reads decisions even if no permission for clusters is necessary.
func TestAnOutageWithoutGrants(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Authorization.Clusters = grants.None })
	l := lostWith(t)
	NewWithT(t).Consistently(func() bool { return standing(t, l.work) }, time.Second, tick).Should(BeTrue())
	edit(t, l.app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
	expectGone(t, l.app)
}

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// broughtUIDs are the UIDs of the objects that an older controller's work has brought to a cluster, and of the
// Application's Deployment.
type broughtUIDs struct{ application, deployment, namespace, project types.UID }

var _ = Describe("A work of an older controller with its Namespace and AppProject", func() {
	const on = "cluster2"

	// there reads the UIDs of an Application's objects on the cluster.
	there := func(ctx context.Context, name string) broughtUIDs {
		GinkgoHelper()
		app, err := read(cluster[on], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(app).NotTo(BeNil())
		ns, err := read(cluster[on], &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}})(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.DeletionTimestamp).To(BeNil())
		project := &argocd.AppProject{}
		project.Namespace, project.Name = argocdNamespace, argocd.DefaultProject
		project, err = read(cluster[on], project)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(project).NotTo(BeNil(), "the AppProject was deleted")
		Expect(project.DeletionTimestamp).To(BeNil())
		return broughtUIDs{app.UID, deployment(ctx, on, name).UID, ns.UID, project.UID}
	}

	// applied waits until the agent has applied the current generation of a work.
	applied := func(ctx context.Context, w *workv1.ManifestWork) {
		GinkgoHelper()
		Eventually(ctx, read(hub, w)).Should(Satisfy(func(w *workv1.ManifestWork) bool {
			c := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
			return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == w.Generation
		}))
	}

	// rewritten overwrites a work as an older controller would: labels, annotations and spec.
	rewritten := func(ctx context.Context, app *argocd.Application) {
		GinkgoHelper()
		older := fixture.OlderWork(app, false)
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		before := w.DeepCopy()
		w.Labels, w.Annotations, w.Spec = older.Labels, older.Annotations, older.Spec
		Expect(hub.Patch(ctx, w, client.MergeFrom(before))).To(Succeed()) // the work agent may write the status meanwhile
		applied(ctx, w)
	}

	disable := func(ctx context.Context, w *workv1.ManifestWork) {
		GinkgoHelper()
		now, err := read(hub, w)(ctx)
		Expect(err).NotTo(HaveOccurred())
		before := now.DeepCopy()
		now.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
		Expect(hub.Patch(ctx, now, client.MergeFrom(before))).To(Succeed())
		applied(ctx, now)
	}

	DescribeTable("is taken over and given back, and the cluster recreates no object",
		func(ctx SpecContext, name string, ofSet, disabled bool) {
			agentMay(ctx, on)
			tow.Stop()
			var app *argocd.Application
			if ofSet {
				set := string(must(os.ReadFile(testdata("takeover-set.yaml"))))
				apply(ctx, strings.NewReplacer("NAME", name, "SPEC", spec("guestbook", name)).Replace(set))
				withoutApplicationSet(name, name)
				Eventually(ctx, read(hub, named(name))).ShouldNot(BeNil())
				app = must(read(hub, named(name))(ctx))
			} else {
				app = standalone(ctx, name, on)
			}
			DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
			w := fixture.OlderWork(app, false)
			w.Finalizers = nil
			Expect(hub.Create(ctx, w)).To(Succeed())
			Eventually(ctx, read(hub, w)).Should(WithTransform(said, And(ContainSubstring("healthStatus=Healthy\n"),
				ContainSubstring("operationStatePhase=Succeeded\n"))), "its first sync is not over, for which somebody waits")
			applied(ctx, w)
			if disabled {
				disable(ctx, w)
			}
			before, was, synced := there(ctx, name), must(read(hub, w)(ctx)), syncs(ctx, on, name)
			// The cluster may sync without a request at any time. Each such sync allows two more writes: the work asks
			// for extra feedback until the hub shows the sync.
			writes := func(of int64) OmegaMatcher {
				return BeNumerically("<=", was.Generation+of+2*int64(syncs(ctx, on, name)-synced))
			}
			AddReportEntry(fmt.Sprintf("before: %+v", before))

			By("Towline")
			never, err := towline.Run(ctx, f, binary, "towline-never", "--propagate=app-projects,namespaces,objects", "--adopt=never")
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(never.Stop)
			expectHealthy(ctx, name)
			Eventually(ctx, read(hub, w)).Should(And(HaveField("UID", w.UID), HaveField("Spec.Workload.Manifests", HaveLen(1))))
			applied(ctx, w)
			Consistently(ctx, func(ctx context.Context) broughtUIDs { return there(ctx, name) }).WithTimeout(20 * tick).Should(Equal(before))
			now := must(read(hub, w)(ctx))
			Expect(now.Generation).To(writes(1), "it was written more than once")
			Expect(work.IsReadOnly(now)).To(BeFalse())
			expectNoCondition(ctx, name, apis.ConditionPropagationError)

			By("a start of the older controllers' pod while their pull model is disabled")
			disable(ctx, w)
			Eventually(ctx, read(hub, w)).Should(Not(Satisfy(work.IsReadOnly)))
			applied(ctx, w)
			Expect(there(ctx, name)).To(Equal(before))
			Expect(must(read(hub, w)(ctx)).Generation).To(writes(3), "it was written more than once")
			expectNoCondition(ctx, name, apis.ConditionPropagationError)

			By("the older controllers again")
			never.Stop()
			rewritten(ctx, app)
			Consistently(ctx, func(ctx context.Context) broughtUIDs { return there(ctx, name) }).WithTimeout(20 * tick).Should(Equal(before))

			By("Towline again, and the end of the Application")
			Expect(tow.Restart(ctx)).To(Succeed())
			Eventually(ctx, read(hub, w)).Should(And(HaveField("UID", w.UID), HaveField("Spec.Workload.Manifests", HaveLen(1))))
			applied(ctx, w)
			Expect(there(ctx, name)).To(Equal(before))
			AddReportEntry(fmt.Sprintf("%+v before and after; %d generations", before, now.Generation-was.Generation))
		},
		Entry("standalone, its controllers stopped", "older-alone", false, false),
		Entry("standalone, its pull model disabled", nightly, "older-alone-off", false, true),
		Entry("of an ApplicationSet, its controllers stopped", nightly, "older-set", true, false),
		Entry("of an ApplicationSet, its pull model disabled", "older-set-off", true, true),
	)

	It("delivered an AppProject, which was changed on the cluster: the hub's AppProject replaces the change", func(ctx SpecContext) {
		const name = "older-project"
		agentMay(ctx, on)
		tow.Stop()
		project := projectNamed(name)
		project.Spec.Raw = []byte(`{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}],` +
			`"clusterResourceWhitelist":[{"group":"*","kind":"*"}]}`)
		Expect(json.Unmarshal(project.Spec.Raw, &project.Spec)).To(Succeed())
		Expect(hub.Create(ctx, project)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, project)).To(Succeed()) })
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Spec(specOf(name, "guestbook", name)) })
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
		w := fixture.OlderWork(app, false)
		w.Finalizers = nil
		Expect(hub.Create(ctx, w)).To(Succeed())
		deployment(ctx, on, name)
		applied(ctx, w)
		disable(ctx, w) // only the Application: the AppProject is still applied
		before := must(read(cluster[on], projectNamed(name))(ctx))
		change(ctx, hub, project, `{"spec":{"description":"of the hub","sourceRepos":["*","https://git.example.com/*"]}}`)
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(cluster[on], projectNamed(name))).Should(HaveField("Spec.SourceRepos", ConsistOf("*", "https://git.example.com/*")))
		Expect(must(read(cluster[on], projectNamed(name))(ctx)).UID).To(Equal(before.UID))
		expectNoCondition(ctx, name, apis.ConditionDependencyError)
		expectHealthy(ctx, name)
	})

	It("is deleted with its Application, and its other objects stay", func(ctx SpecContext) {
		const name = "older-ends"
		agentMay(ctx, on)
		tow.Stop()
		app := standalone(ctx, name, on)
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
		w := fixture.OlderWork(app, false)
		w.Finalizers, w.Spec.DeleteOption = nil, nil // the agent owns all objects of the work
		Expect(hub.Create(ctx, w)).To(Succeed())
		deployment(ctx, on, name)
		applied(ctx, w)
		before := there(ctx, name)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		ns := must(read(cluster[on], &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}})(ctx))
		Expect(ns.UID).To(Equal(before.namespace))
		Expect(ns.DeletionTimestamp).To(BeNil())
	})
})

// said returns the health and the operation's phase from the feedback of a work.
func said(w *workv1.ManifestWork) string {
	return feedback.Text(&w.Status, "healthStatus", "operationStatePhase")
}

// agentMay gives the work agent of a cluster all rights on the cluster, as the product does.
func agentMay(ctx context.Context, on string) {
	GinkgoHelper()
	binding := must(read(cluster[on], workAgentBinding())(ctx))
	all := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "work-agent-may-all"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   binding.Subjects,
	}
	Expect(cluster[on].Create(ctx, all)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(cluster[on].Delete(ctx, all)).To(Succeed())
	})
}

// must returns the value, and fails on an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

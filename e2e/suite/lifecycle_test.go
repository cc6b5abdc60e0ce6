package suite

import (
	"context"
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

var _ = Describe("A hub Application", usesRights, func() {
	It("is deleted only after the cluster has removed the Application", func(ctx SpecContext) {
		app := standalone(ctx, "held", "cluster1")
		expectAtRest(ctx, app.Name)
		deployment(ctx, "cluster1", app.Name)

		Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed()) })
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		Consistently(ctx, read(hub, app)).WithTimeout(3 * tick * 10).ShouldNot(BeNil())
		Expect(read(cluster["cluster1"], guestbookOf(app.Name))(ctx)).NotTo(BeNil())

		Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster["cluster1"], named(app.Name))(ctx)).To(BeNil())
		Expect(read(cluster["cluster1"], guestbookOf(app.Name))(ctx)).To(BeNil())
	})

	It("without Argo CD's finalizer leaves its resources behind, and no work", func(ctx SpecContext) {
		app := standalone(ctx, "preserved", "cluster2", func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectHealthy(ctx, app.Name)
		before := deployment(ctx, "cluster2", app.Name)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(read(cluster["cluster2"], named(app.Name))(ctx)).To(BeNil())
		Expect(deployment(ctx, "cluster2", app.Name).UID).To(Equal(before.UID))
	})

	It("that was deleted without a running Towline is removed from its cluster after the restart", func(ctx SpecContext) {
		app := standalone(ctx, "missed", "cluster1", func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectHealthy(ctx, app.Name)
		tow.Stop()
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(hub, workOf(app))(ctx)).NotTo(BeNil())
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(BeNil())
	})

	It("moves to a second cluster: delivered there before the removal from the first", func(ctx SpecContext) {
		app := standalone(ctx, "moved", "cluster1")
		expectHealthy(ctx, app.Name)
		old := workOf(app)
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`, apis.AnnotationCluster)
		Expect(hub.Patch(ctx, app, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		deployment(ctx, "cluster2", app.Name)
		Eventually(ctx, read(hub, old)).Should(BeNil())
		Eventually(ctx, read(cluster["cluster1"], guestbookOf(app.Name))).Should(BeNil())
		expectHealthy(ctx, app.Name)
	})

	It("keeps its workload during a change of its namespace on the cluster", func(ctx SpecContext) {
		const on, elsewhere = "cluster1", "other-apps"
		applicationsIn(ctx, on, elsewhere)
		app := standalone(ctx, "rehoused", on)
		expectHealthy(ctx, app.Name)
		before := deployment(ctx, on, app.Name)
		there := named(app.Name)
		there.Namespace = elsewhere
		for _, step := range []struct {
			annotation string
			from, to   *argocd.Application
		}{{elsewhere, named(app.Name), there}, {"", there, named(app.Name)}} {
			patchHub(ctx, app.Name, annotationPatch(apis.AnnotationAppNamespace, step.annotation))
			Eventually(ctx, read(cluster[on], step.to)).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
			Eventually(ctx, read(cluster[on], step.from)).Should(BeNil())
			expectNoCondition(ctx, app.Name, apis.ConditionMoveWarning)
			Expect(deployment(ctx, on, app.Name).UID).To(Equal(before.UID))
		}
		expectHealthy(ctx, app.Name)
		Expect(deployment(ctx, on, app.Name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
	})

	It("keeps its workload after a change of its work by a user", func(ctx SpecContext) {
		app := standalone(ctx, "tampered", "cluster1")
		expectHealthy(ctx, app.Name)
		before := deployment(ctx, "cluster1", app.Name)

		// A cluster's agent can tamper with works on a hub without admission policies (attacks_test.go).
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		tampered := w.DeepCopy()
		tampered.Labels, tampered.Annotations = nil, map[string]string{apis.AnnotationHubNamespace: "x", apis.AnnotationHubName: "y"}
		tampered.Spec.ManifestConfigs = nil
		Expect(hub.Patch(ctx, tampered, client.MergeFrom(w))).To(Succeed())

		Eventually(ctx, read(hub, workOf(app))).Should(And(
			HaveField("Labels", HaveKeyWithValue(apis.LabelPull, "true")),
			HaveField("Annotations", HaveKeyWithValue(apis.AnnotationHubName, app.Name)),
			HaveField("Spec.ManifestConfigs", HaveLen(1)),
			HaveField("UID", w.UID),
		))
		Expect(deployment(ctx, "cluster1", app.Name).UID).To(Equal(before.UID))
	})

	It("that is recreated under the same name keeps its workload", func(ctx SpecContext) {
		app := standalone(ctx, "again", "cluster1", func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectHealthy(ctx, app.Name)
		before, old := deployment(ctx, "cluster1", app.Name), workOf(app)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		again := app.DeepCopy()
		again.ObjectMeta = metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name, Labels: app.Labels, Annotations: app.Annotations}
		again.Status = argocd.Status{}
		Expect(hub.Create(ctx, again)).To(Succeed())
		Eventually(ctx, read(hub, old)).Should(BeNil())
		expectHealthy(ctx, app.Name)
		Expect(deployment(ctx, "cluster1", app.Name).UID).To(Equal(before.UID))
	})

	It("takes over the work of an older controller, and its workload goes on", func(ctx SpecContext) {
		app, w, restart := byOlderController(ctx, "cluster2", "adopted")
		before := deployment(ctx, "cluster2", app.Name)
		restart()
		expectHealthy(ctx, app.Name)
		Eventually(ctx, read(hub, w)).Should(And(HaveField("UID", w.UID), HaveField("Spec.ManifestConfigs", HaveLen(1))))
		Expect(deployment(ctx, "cluster2", app.Name).UID).To(Equal(before.UID))
	})

	It("keeps its own destination on the hub", func(ctx SpecContext) {
		mine := strings.Replace(spec("guestbook", "destined"), `"server":"`+apis.InClusterServer+`"`, `"name":"cluster1"`, 1)
		app := standalone(ctx, "destined", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(mine) })
		expectHealthy(ctx, app.Name)
		now, err := read(hub, app)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(now.Spec.Raw)).To(MatchJSON(mine))
		there, err := read(cluster["cluster1"], app)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(there.Spec.Raw)).To(And(ContainSubstring(apis.InClusterServer), Not(ContainSubstring(`"name":"cluster1"`))))
	})

	It("gets its work back after a user deleted the work", func(ctx SpecContext) {
		app := standalone(ctx, "deleted-work", "cluster2")
		expectHealthy(ctx, app.Name)
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Delete(ctx, w)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(w.UID)))))
		deployment(ctx, "cluster2", app.Name)
		expectHealthy(ctx, app.Name)
	})
})

var _ = Describe("A mistake", usesRights, func() {
	It("in the name of the cluster is shown on the Application, and fixed by importing the cluster", func(ctx SpecContext) {
		app := standalone(ctx, "lost", "no-such-cluster")
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, `ManagedCluster "no-such-cluster" does not exist`)
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`, apis.AnnotationCluster)
		Expect(hub.Patch(ctx, app, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
	})

	It("a cluster that is not accepted is waited for", func(ctx SpecContext) {
		mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "never-accepted"}}
		Expect(hub.Create(ctx, mc)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, mc)).To(Succeed()) })
		app := standalone(ctx, "waiting", mc.Name)
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "hubAcceptsClient")
		Expect(hub.Patch(ctx, mc, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hubAcceptsClient":true}}`)))).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		if *transport == fleet.TransportMaestro {
			// Maestro keeps a work until the cluster's agent has answered, and the new cluster has no agent.
			patchHub(ctx, app.Name, annotationPatch(apis.AnnotationForceDelete, "true"))
		}
	})

	It("in the Git path comes back from the cluster as Argo CD's own error", func(ctx SpecContext) {
		app := standalone(ctx, "nowhere", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(spec("no/such/path", "nowhere")) })
		expectCondition(ctx, app.Name, "ComparisonError", "no/such/path")
		patch := fmt.Sprintf(`{"spec":%s}`, spec("guestbook", "nowhere"))
		Expect(hub.Patch(ctx, app, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, "ComparisonError")
	})

	It("a missing right of the work agent is shown in the agent's words until the right is granted", func(ctx SpecContext) {
		grant := withoutWorkAgentRights(ctx, "cluster2")
		app := standalone(ctx, "forbidden", "cluster2")
		expectCondition(ctx, app.Name, apis.ConditionWorkApplyError, "forbidden")
		grant(ctx)
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, apis.ConditionWorkApplyError)
	})

	It("of skip-reconcile left out sends nothing", func(ctx SpecContext) {
		app := standalone(ctx, "unskipped", "cluster1", func(b *fixture.ApplicationBuilder) {
			// Argo CD's finalizer would be handled by the hub's own application controller, and a fleet's hub has none.
			b.NoAnnotation(apis.AnnotationSkipReconcile).Finalizers()
		})
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, apis.AnnotationSkipReconcile)
		Expect(read(hub, workOf(app))(ctx)).To(BeNil())
	})
})

var _ = Describe("A managed cluster", func() {
	It("reaches only its own namespace of the hub", func(ctx SpecContext) {
		agent, err := clientFromKubeconfig(f.Cluster("cluster1").AgentKubeconfig())
		Expect(err).NotTo(HaveOccurred())
		Expect(agent.List(ctx, &workv1.ManifestWorkList{}, client.InNamespace("cluster1"))).To(Succeed())
		Expect(agent.List(ctx, &workv1.ManifestWorkList{}, client.InNamespace("cluster2"))).To(MatchError(ContainSubstring("forbidden")))
		Expect(agent.List(ctx, &argocd.ApplicationList{})).To(MatchError(ContainSubstring("forbidden")))
	})

	It("catches up after its API server was away", func(ctx SpecContext) {
		app := standalone(ctx, "outage", "cluster2")
		expectHealthy(ctx, app.Name)
		Expect(f.Cluster("cluster2").StopAPIServer(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAPIServer(ctx)).To(Succeed()) })
		patch := fmt.Sprintf(`{"spec":%s}`, spec("kustomize-guestbook/overlays/dev", app.Name))
		Expect(hub.Patch(ctx, app, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Spec.Workload.Manifests",
			ContainElement(HaveField("Raw", ContainSubstring("kustomize-guestbook")))))
		Expect(f.Cluster("cluster2").StartAPIServer(ctx)).To(Succeed())
		// For the next spec: after the outage, all surviving processes of the cluster work again.
		deployed := guestbookOf(app.Name)
		deployed.Name = "dev-" + deployed.Name
		Eventually(ctx, read(cluster["cluster2"], deployed)).Should(HaveField("Status.AvailableReplicas", BeEquivalentTo(1)))
		expectHealthy(ctx, app.Name)
	})
})

// applicationsIn makes a namespace on a cluster, and lets the work agent write Applications in the namespace.
func applicationsIn(ctx context.Context, on, namespace string) {
	GinkgoHelper()
	namespaceOn(ctx, cluster[on], namespace)
	binding, err := read(cluster[on], workAgentBinding())(ctx)
	Expect(err).NotTo(HaveOccurred())
	binding.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: binding.Name}
	Expect(client.IgnoreAlreadyExists(cluster[on].Create(ctx, binding))).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(cluster[on].Delete(ctx, binding)).To(Succeed())
	})
}

// withoutWorkAgentRights removes the rights on Applications from a cluster's work agent for a spec, and waits until the
// cluster refuses the agent. The returned function grants the rights again earlier. The rights of an add-on are removed
// too: they outlive the add-on, and are not granted again.
func withoutWorkAgentRights(ctx context.Context, on string) (grant func(context.Context)) {
	GinkgoHelper()
	binding, err := read(cluster[on], workAgentBinding())(ctx)
	Expect(err).NotTo(HaveOccurred())
	grant = func(ctx context.Context) {
		binding.ObjectMeta = metav1.ObjectMeta{Namespace: binding.Namespace, Name: binding.Name}
		Expect(client.IgnoreAlreadyExists(cluster[on].Create(ctx, binding))).To(Succeed())
	}
	DeferCleanup(grant)
	brought := workAgentBinding()
	brought.Name = addOnBinding
	agent := must(clientFromKubeconfig(must(f.Cluster(on).ServiceAccountKubeconfig(ctx, "open-cluster-management-agent", "klusterlet-work-sa"))))
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		for _, b := range []*rbacv1.RoleBinding{workAgentBinding(), brought} {
			g.Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, b))).To(Succeed())
		}
		g.Expect(agent.List(ctx, &argocd.ApplicationList{}, client.InNamespace(argocdNamespace))).To(MatchError(ContainSubstring("forbidden")))
	}).Should(Succeed(), "something else gives it rights")
	return grant
}

// workAgentBinding returns the key of the RoleBinding of example/managed, to read.
func workAgentBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "towline:work-agent:applications"}}
}

// byOlderController makes an Application with a work in the form of the first pull controllers, and waits until the
// Application's Deployment runs. Towline is stopped until restart is called.
func byOlderController(
	ctx context.Context, on, name string, edits ...func(*workv1.ManifestWork),
) (app *argocd.Application, w *workv1.ManifestWork, restart func()) {
	GinkgoHelper()
	tow.Stop()
	restart = sync.OnceFunc(func() { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
	DeferCleanup(restart)
	app = standalone(ctx, name, on)
	w = workOf(app)
	w.Annotations = map[string]string{apis.AnnotationHubNamespace: app.Namespace, apis.AnnotationHubName: app.Name}
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":%q,"namespace":%q,"finalizers":[%q]},"spec":%s}`,
		app.Name, app.Namespace, apis.FinalizerResources, app.Spec.Raw)}}}
	for _, edit := range edits {
		edit(w)
	}
	Expect(hub.Create(ctx, w)).To(Succeed())
	deployment(ctx, on, name)
	return app, w, restart
}

package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// noCascade removes the finalizers of the hub's Application, and deletes the Application.
func noCascade(ctx context.Context, app *argocd.Application) {
	GinkgoHelper()
	patchHub(ctx, app.Name, `{"metadata":{"finalizers":null}}`)
	Expect(hub.Delete(ctx, app)).To(Succeed())
	Eventually(ctx, read(hub, app)).Should(BeNil())
}

// answer returns the conditions Applied and Available of a work, as far as they are about the current generation.
func answer(w *workv1.ManifestWork) string {
	out := ""
	for _, kind := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
		c := meta.FindStatusCondition(w.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != w.Generation {
			return out
		}
		out += kind + "=" + string(c.Status) + " "
	}
	return out
}

// reported adds to the report the conditions of the manifests in an Application's work.
func reported(ctx context.Context, app *argocd.Application) {
	GinkgoHelper()
	w, err := read(hub, workOf(app))(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, m := range w.Status.ResourceStatus.Manifests {
		for _, c := range m.Conditions {
			AddReportEntry(fmt.Sprintf("resource %q: %s=%s: %s: %s", m.ResourceMeta.Resource, c.Type, c.Status, c.Reason, c.Message))
		}
	}
}

// pollingAgent replaces the work agent of a cluster by an agent without a watch on the applied objects, until the spec
// ends. An agent with more than 50 kinds and namespaces has no such watch, and neither has an older release.
func pollingAgent(ctx context.Context, on string) {
	GinkgoHelper()
	Expect(f.Cluster(on).StopProcess(ctx, "work-agent")).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(f.Cluster(on).StartProcess(ctx, "work-agent")).To(Succeed())
	})
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	const namespace = "open-cluster-management-agent"
	kubeconfig, err := f.Cluster(on).ServiceAccountKubeconfig(ctx, namespace, "klusterlet-work-sa")
	Expect(err).NotTo(HaveOccurred())
	source, err := f.Hub.WorkSource(ctx, on, f.Cluster(on).AgentKubeconfig(), GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	args := append([]string{"agent", "--disable-leader-election", "--listen=" + address, "--spoke-cluster-name=" + on, "--agent-id=agent",
		"--namespace=" + namespace, "--kubeconfig=" + kubeconfig}, source...)
	if !oldest() { // OCM 1.0 has no watch, and refuses the argument
		args = append(args, "--max-feedback-watch=0")
	}
	agent, err := f.Run(ctx, fleet.Command{
		Name: "work-agent-polling", Path: f.Program("work"), Args: args, Ready: fleet.HTTPReady("https://" + address + "/healthz"),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(agent.Stop)
}

// workingWithCluster returns the running processes with clients of a cluster's API server.
func workingWithCluster(ctx context.Context, on string) (clients []process) {
	GinkgoHelper()
	status, err := f.Status(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, p := range status.Planes {
		for _, found := range p.Processes {
			if p.Name == on && found.Running && found.Name != "etcd" && found.Name != "kube-apiserver" {
				clients = append(clients, process{&f.Cluster(on).ControlPlane, found.Name})
			}
		}
	}
	return clients
}

// movedBack moves an Application back from a namespace of its cluster without an Argo CD.
func movedBack(ctx context.Context, on, name, from string) {
	GinkgoHelper()
	there := named(name)
	there.Namespace = from
	Eventually(ctx, read(cluster[on], there)).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
	patchHub(ctx, name, annotationPatch(apis.AnnotationAppNamespace, ""))
	Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
	Eventually(ctx, read(cluster[on], there)).Should(BeNil())
	expectHealthy(ctx, name)
}

var _ = Describe("A cluster whose API server fails", func() {
	const on, elsewhere = "cluster2", "other-apps"
	// stopped stops the API server, while a polling work agent runs on. All other clients of the API server are
	// stopped, and start again with the API server: a client that has lost its server retries ever more rarely.
	stopped := func(ctx context.Context) (back func(context.Context)) {
		GinkgoHelper()
		pollingAgent(ctx, on)
		others := workingWithCluster(ctx, on)
		for _, p := range others {
			Expect(p.plane.StopProcess(ctx, p.name)).To(Succeed())
		}
		Expect(f.Cluster(on).StopAPIServer(ctx)).To(Succeed())
		return func(ctx context.Context) {
			Expect(f.Cluster(on).StartAPIServer(ctx)).To(Succeed())
			for _, p := range others {
				Expect(p.plane.StartProcess(ctx, p.name)).To(Succeed())
			}
		}
	}
	// forbids makes the API server answer with errors, to a restarted agent without an earlier watch.
	forbids := func(ctx context.Context) (back func(context.Context)) {
		GinkgoHelper()
		grant := withoutWorkAgentRights(ctx, on)
		Expect(f.Cluster(on).StopProcess(ctx, "work-agent")).To(Succeed())
		Expect(f.Cluster(on).StartProcess(ctx, "work-agent")).To(Succeed())
		return grant
	}
	namespaceChanged := func(ctx context.Context, app *argocd.Application) {
		GinkgoHelper()
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationAppNamespace, elsewhere))
	}

	DescribeTable("keeps the workload of an Application that is", func(
		ctx SpecContext, name, says string, fails func(context.Context) func(context.Context), end func(context.Context, *argocd.Application),
	) {
		applicationsIn(ctx, on, elsewhere)
		app := standalone(ctx, name, on)
		expectHealthy(ctx, name)
		before := deployment(ctx, on, name)
		back := fails(ctx)
		DeferCleanup(func(ctx SpecContext) { back(ctx) })

		end(ctx, app)
		Eventually(ctx, read(hub, workOf(app))).Should(And(Not(BeNil()), HaveField("Generation", BeNumerically(">", 1)),
			WithTransform(answer, ContainSubstring(says))))
		reported(ctx, app)
		Consistently(ctx, read(hub, workOf(app))).WithTimeout(5*time.Second).Should(And(
			Not(BeNil()), HaveField("DeletionTimestamp", BeNil()), WithTransform(func(w *workv1.ManifestWork) string {
				held, _ := work.Carried(w)
				return held.Namespace
			}, Equal(argocdNamespace))), "the Application goes from there with its finalizers on")

		back(ctx)
		Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
		if now, err := read(hub, app)(ctx); err == nil && now != nil {
			movedBack(ctx, on, name, elsewhere)
		}
	},
		Entry("deleted without a cascade, while it is away", nightly, "stopped-deleted", "Applied=False Available=Unknown", stopped, noCascade),
		Entry("moved to another namespace, while it is away", nightly, "stopped-moved", "Applied=False Available=Unknown", stopped, namespaceChanged),
		Entry("deleted without a cascade, while it refuses", "refused-deleted", "Applied=False Available=Unknown", forbids, noCascade),
		Entry("moved to another namespace, while it refuses", "refused-moved", "Applied=False Available=Unknown", forbids, namespaceChanged),
	)
})

var _ = Describe("A work of an older controller that meets a conflict", func() {
	const on, elsewhere = "cluster1", "other-apps"
	// conflicting returns an Application that a work without force has applied, and that a user of the cluster has
	// changed since.
	conflicting := func(ctx context.Context, name string) (*argocd.Application, func()) {
		GinkgoHelper()
		app, w, restart := byOlderController(ctx, on, name, func(w *workv1.ManifestWork) {
			w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{
				ResourceIdentifier: work.Identifier(named(name)),
				UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply},
			}}
		})
		_, err := f.Cluster(on).Kubectl(ctx, "-n", argocdNamespace, "patch", "applications.argoproj.io", name, "--field-manager=kubectl-edit",
			"--type", "merge", "-p", `{"spec":{"source":{"targetRevision":"HEAD"}}}`)
		Expect(err).NotTo(HaveOccurred())
		w, err = read(hub, w)(ctx)
		Expect(err).NotTo(HaveOccurred())
		changed := w.DeepCopy()
		raw := strings.Replace(string(w.Spec.Workload.Manifests[0].Raw), `"metadata":{`, `"metadata":{"labels":{"changed":"true"},`, 1)
		changed.Spec.Workload.Manifests[0].RawExtension = runtime.RawExtension{Raw: []byte(raw)}
		Expect(hub.Patch(ctx, changed, client.MergeFrom(w))).To(Succeed())
		Eventually(ctx, read(hub, w)).Should(WithTransform(answer, ContainSubstring("Applied=False")))
		return app, restart
	}

	It("keeps the delivered objects after the deletion of its Application without a cascade", func(ctx SpecContext) {
		const name = "conflict-deleted"
		app, restart := conflicting(ctx, name)
		before := deployment(ctx, on, name)
		restart()
		expectSetBack(ctx, on, name)
		reported(ctx, app)
		noCascade(ctx, app)
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
	})

	It("keeps the delivered objects during a change of the Application's namespace on the cluster", func(ctx SpecContext) {
		const name = "conflict-moved"
		applicationsIn(ctx, on, elsewhere)
		_, restart := conflicting(ctx, name)
		before := deployment(ctx, on, name)
		restart()
		expectSetBack(ctx, on, name)
		patchHub(ctx, name, annotationPatch(apis.AnnotationAppNamespace, elsewhere))
		there := named(name)
		there.Namespace = elsewhere
		Eventually(ctx, read(cluster[on], there)).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
		Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
		movedBack(ctx, on, name, elsewhere)
	})
})

// expectSetBack waits until the Application on a cluster has the revision of the hub again. Towline takes over the
// work, finds that the work owns the Application, and reverts the edit.
func expectSetBack(ctx context.Context, on, name string) {
	GinkgoHelper()
	Eventually(ctx, read(cluster[on], named(name))).Should(WithTransform(
		func(app *argocd.Application) string { return string(app.Spec.Raw) }, ContainSubstring(`"targetRevision":"main"`)))
}

var _ = Describe("An Application whose cluster is away", func() {
	const on = "cluster1"
	away := func(ctx context.Context) {
		GinkgoHelper()
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed()) })
	}

	It("leaves its workload if deleted before the agent has seen the new work", inEtcd, func(ctx SpecContext) {
		const name = "made-anew"
		app := standalone(ctx, name, on)
		expectAtRest(ctx, name)
		before := deployment(ctx, on, name)
		away(ctx)
		// The same happens when the ManagedCluster was deleted and imported again.
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Delete(ctx, w)).To(Succeed())
		Expect(hub.Patch(ctx, workOf(app), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(w.UID)))))
		noCascade(ctx, app)
		Consistently(ctx, read(hub, workOf(app))).WithTimeout(20*tick).ShouldNot(BeNil(), "what its cluster has is destroyed an hour later")
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
	})
})

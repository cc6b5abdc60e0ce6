package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// manageHub makes the hub a managed cluster too, with a work agent of its own, until the spec ends.
func manageHub(ctx context.Context, name string) {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("appliedmanifestworks.work.open-cluster-management.io")
	Expect(cluster["cluster1"].Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	crd.SetResourceVersion("")
	crd.SetUID("")
	Expect(hub.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, crd)).To(Succeed()) }) //nolint:contextcheck // a clean-up has its own

	workAgent(ctx, name, f.Hub.Kubeconfig(), func(b *fixture.ClusterBuilder) { b.Label(apis.LabelLocalCluster, "true") })
}

// workAgent makes a control plane a managed cluster of that name, with a work agent of its own, until the spec ends.
func workAgent(ctx context.Context, name, kubeconfig string, edits ...func(*fixture.ClusterBuilder)) {
	GinkgoHelper()
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address, admin := fmt.Sprintf("127.0.0.1:%d", ports[0]), f.Hub.Kubeconfig()
	agent, err := f.Run(ctx, fleet.Command{Name: name + "-work-agent", Path: f.Program("work"), Args: []string{
		"agent", "--disable-leader-election", "--listen=" + address, "--spoke-cluster-name=" + name, "--agent-id=" + name,
		"--namespace=" + argocdNamespace, "--kubeconfig=" + kubeconfig, "--hub-kubeconfig=" + admin, "--workload-source-config=" + admin,
	}, Ready: fleet.HTTPReady("https://" + address + "/healthz")})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(agent.Stop)

	b := fixture.Cluster(name)
	for _, edit := range edits {
		edit(b)
	}
	mc := b.Obj()
	Expect(hub.Create(ctx, mc)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
		Expect(hub.Delete(ctx, mc)).To(Succeed())
		Eventually(ctx, read(hub, mc)).Should(BeNil())
	})
}

var _ = Describe("The hub as a managed cluster", func() {
	It("gets an Application in another namespace than the hub's own copy, and no other", func(ctx SpecContext) {
		const there = "local-apps"
		namespaceOn(ctx, hub, there)
		manageHub(ctx, "local-cluster")
		app := standalone(ctx, "local", "local-cluster", func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "is the hub itself")
		Expect(read(hub, workOf(app))(ctx)).To(BeNil())

		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationAppNamespace, there))
		landed := &argocd.Application{}
		landed.Namespace, landed.Name = there, app.Name
		Eventually(ctx, read(hub, landed)).Should(And(
			HaveField("Labels", And(HaveKeyWithValue(apis.LabelPulled, "true"), Not(HaveKey(apis.LabelPull)))),
			HaveField("Annotations", Not(HaveKey(apis.AnnotationSkipReconcile))),
			HaveField("OwnerReferences", HaveLen(1))))
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		Expect(read(hub, app)(ctx)).To(HaveField("UID", app.UID))
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, landed)).Should(BeNil())
	})
})

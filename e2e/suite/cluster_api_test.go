package suite

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/e2e/towline"
)

// provisionedCluster is the Cluster object of Cluster API. Its provider sets the phase when the API server of the
// cluster answers.
const provisionedCluster = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: edge1, namespace: edge1}
spec: {clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}}
`

var _ = Describe("A cluster that Cluster API makes", Ordered, Serial, func() {
	const edge, app = "edge1", "capi-edge1"

	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(removeAddOn)
		Expect(towline.ApplyAddOns(ctx, f)).To(Succeed())
		apply(ctx, fmt.Sprintf(joinedSet, "capi", spec("guestbook", "capi")))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationsets.argoproj.io", "capi-app-set", "--namespace", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
			for _, c := range f.Clusters() {
				Eventually(ctx, read(hub, named("capi-"+c.Name()))).Should(BeNil())
			}
			Expect(f.Leave(ctx, edge)).To(Succeed())
			delete(cluster, edge)
		}, NodeTimeout(2*soon))

		By("provisioning a cluster with an Argo CD, without agents, and with nothing of Towline")
		provisioned, err := f.Provision(ctx, edge)
		Expect(err).NotTo(HaveOccurred())
		cluster[edge] = clientOf(&provisioned.ControlPlane)
		provide(ctx, edge, provisioned.Kubeconfig())
	}, NodeTimeout(2*soon))

	It("is not imported while nobody permits its kubeconfig to be read", func(ctx SpecContext) {
		apply(ctx, `{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: edge1}, spec: {hubAcceptsClient: true}}`)
		Eventually(ctx, func(ctx context.Context) (string, error) { return importMessage(ctx, edge) }).Should(
			ContainSubstring(`secrets "edge1-kubeconfig" is forbidden`))
	})

	It("becomes a joined cluster on which the guestbook is Healthy", func(ctx SpecContext) {
		began := time.Now()
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/cluster-api.yaml")).To(Succeed())
		Expect(f.OperateKlusterlet(ctx, edge)).To(Succeed())
		AddReportEntry(fmt.Sprintf("imported and Available after %.1f s", time.Since(began).Seconds()))
		expectHealthy(ctx, app)
		AddReportEntry(fmt.Sprintf("Healthy after %.1f s", time.Since(began).Seconds()))
		deployment(ctx, edge, "capi")
		expectAddOnAvailable(ctx, edge, towline.RightsAddOn)
	}, NodeTimeout(2*soon))
})

// provide makes Cluster API's objects for a ready cluster: the Cluster, in a namespace of the same name, and the Secret
// with its kubeconfig.
func provide(ctx context.Context, name, kubeconfig string) {
	GinkgoHelper()
	namespaceOn(ctx, hub, name)
	apply(ctx, provisionedCluster)
	data, err := os.ReadFile(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{Type: "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": data}}
	secret.Namespace, secret.Name = name, name+"-kubeconfig"
	Expect(hub.Create(ctx, secret)).To(Succeed())
	_, err = f.Hub.Kubectl(ctx, "patch", "clusters.cluster.x-k8s.io", name, "--namespace", name, "--subresource", "status",
		"--type", "merge", "--patch", `{"status": {"phase": "Provisioned"}}`)
	Expect(err).NotTo(HaveOccurred())
}

// importMessage returns the message of the condition ManagedClusterImportSucceeded of OCM's importer.
func importMessage(ctx context.Context, name string) (string, error) {
	return f.Hub.Kubectl(ctx, "get", "managedclusters.cluster.open-cluster-management.io", name,
		"--output", `jsonpath={.status.conditions[?(@.type=="ManagedClusterImportSucceeded")].message}`)
}

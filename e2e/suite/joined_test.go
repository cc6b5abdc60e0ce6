package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
)

// agentByPlacement is the install strategy of the agent's add-on in deploy/components/agent-by-placement.
const agentByPlacement = `{"spec": {"installStrategy": {"type": "Placements", "placements": [
	{"name": "towline-clusters", "namespace": "argocd"}]}}}`

// installedByHand is the install strategy of the agent's add-on in deploy/addon.
const installedByHand = `{"spec": {"installStrategy": {"type": "Manual", "placements": null}}}`

// installedNowhere makes the add-on manager remove an add-on from every cluster.
const installedNowhere = `{"spec": {"installStrategy": {"type": "Placements", "placements": []}}}`

// fromMirror makes clusters pull the agent's image from a mirror.
const fromMirror = `{"spec": {"registries": [{"mirror": "mirror.local/edge"}]}}`

// rightsElsewhere gives clusters of a second Placement their rights in a different namespace.
const rightsElsewhere = `{"spec": {"installStrategy": {"placements": [
	{"name": "towline-clusters", "namespace": "argocd"},
	{"name": "elsewhere", "namespace": "argocd", "configs": [
		{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs", "name": "elsewhere", "namespace": "argocd"}]}]}}}`

// joinedSet is an ApplicationSet that deploys the guestbook to every cluster chosen by the Placement of example/hub.
// Its parameters are a name and the spec of the Applications.
const joinedSet = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s-app-set, namespace: argocd}
spec:
  generators:
  - clusterDecisionResource:
      configMapRef: ocm-placement-generator
      labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: guestbook-app-placement}}
      requeueAfterSeconds: 3
  template:
    metadata:
      name: '%[1]s-{{name}}'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations:
        apps.open-cluster-management.io/ocm-managed-cluster: '{{name}}'
        argocd.argoproj.io/skip-reconcile: "true"
    spec: %[2]s
`

var _ = Describe("A cluster that joins a running fleet", Ordered, Serial, func() {
	const newcomer, app = "newcomer", "joined-newcomer"
	var began time.Time

	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(removeAddOn)
		Expect(towline.ApplyAddOns(ctx, f)).To(Succeed())
		patchAddOn(ctx, "clustermanagementaddon", towline.AddOn, agentByPlacement)
		patchAddOn(ctx, "addondeploymentconfig", towline.AddOn, fromMirror)
		apply(ctx, fmt.Sprintf(joinedSet, "joined", spec("guestbook", "joined")))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationsets.argoproj.io", "joined-app-set", "--namespace", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
			for _, c := range f.Clusters() {
				Eventually(ctx, read(hub, named("joined-"+c.Name()))).Should(BeNil())
			}
			By("detaching the cluster, whose agents end well")
			Expect(f.Leave(ctx, newcomer)).To(Succeed())
			delete(cluster, newcomer)
		}, NodeTimeout(2*soon))

		By("starting a cluster that has a bootstrap token, an Argo CD, and nothing of Towline")
		began = time.Now()
		joined, err := f.Join(ctx, newcomer)
		Expect(err).NotTo(HaveOccurred())
		cluster[newcomer] = clientOf(&joined.ControlPlane)
		AddReportEntry(fmt.Sprintf("started and Available after %.1f s", time.Since(began).Seconds()))
		began = time.Now()
	}, NodeTimeout(2*soon))

	It("gets its Secret, its rights and its Application by objects on the hub", func(ctx SpecContext) {
		expectHealthy(ctx, app)
		AddReportEntry(fmt.Sprintf("Healthy %.1f s after it was Available", time.Since(began).Seconds()))
		deployment(ctx, newcomer, "joined")
		Expect(read(cluster[newcomer], workAgentBinding())(ctx)).To(BeNil(), "somebody applied example/managed")
		expectAddOnAvailable(ctx, newcomer, towline.RightsAddOn)
	})

	It("gets the agent, from a mirror", func(ctx SpecContext) {
		agent, err := towline.RunAgent(ctx, f, binary, newcomer, "agent-"+newcomer)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		expectSameDetail(ctx, newcomer, app)
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return f.Cluster(newcomer).Kubectl(ctx, "get", "deployment", towline.AddOn, "--namespace", towline.AddOnNamespace,
				"--output", "jsonpath={.spec.template.spec.containers[0].image}")
		}).Should(Equal("mirror.local/edge/towline:latest"))
	})

	It("gets its rights in the namespace of its Argo CD", func(ctx SpecContext) {
		const elsewhere = "argocd-elsewhere"
		namespaceOn(ctx, cluster[newcomer], elsewhere)
		apply(ctx, `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: elsewhere, namespace: argocd}
spec:
  agentInstallNamespace: argocd-elsewhere
  customizedVariables:
  - {name: WORK_AGENT, value: "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa"}
  - {name: TOWLINE_AGENT, value: "system:serviceaccount:open-cluster-management-agent-addon:towline-agent"}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: elsewhere, namespace: argocd}
spec:
  predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {argocd: elsewhere}}}}]
`)
		patchAddOn(ctx, "clustermanagementaddon", towline.RightsAddOn, rightsElsewhere)
		label(ctx, newcomer, "argocd", "elsewhere")
		Eventually(ctx, func(ctx context.Context) string {
			may, _ := f.Cluster(newcomer).Kubectl(ctx, "auth", "can-i", "patch", "applications.argoproj.io", "--namespace", elsewhere,
				"--as", "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa") // kubectl exits with an error for "no"
			return may
		}).Should(HavePrefix("yes"))
	})
})

// expectAddOnAvailable waits until a cluster's add-on is Available.
func expectAddOnAvailable(ctx context.Context, on, addOn string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (string, error) {
		return f.Hub.Kubectl(ctx, "get", "managedclusteraddons.addon.open-cluster-management.io", addOn, "--namespace", on,
			"--output", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	}).Should(Equal("True"))
}

func patchAddOn(ctx context.Context, kind, name, patch string) {
	GinkgoHelper()
	_, err := f.Hub.Kubectl(ctx, "patch", kind+"s.addon.open-cluster-management.io", name, "--namespace", argocdNamespace,
		"--type", "merge", "--patch", patch)
	Expect(err).NotTo(HaveOccurred())
}

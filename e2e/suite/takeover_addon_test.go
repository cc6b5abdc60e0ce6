package suite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/fixture/documented"
)

// pullIntegration is the add-on argocd. In place of Argo CD's CRDs, the add-on has a CRD unknown to the rest of the
// fleet.
const pullIntegration = `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: argocd}
spec:
  addonName: argocd
  agentSpec:
    workload:
      manifests:
      - apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: widgets.pull-integration.example}
        spec:
          group: pull-integration.example
          names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
          scope: Namespaced
          versions:
          - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
      - apiVersion: v1
        kind: Namespace
        metadata: {name: pull-integration}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: argocd
  annotations: {addon.open-cluster-management.io/lifecycle: addon-manager}
spec:
  addOnMeta: {displayName: argocd}
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: argocd}}
  installStrategy: {type: Manual}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: argocd, namespace: cluster2}
spec: {}
`

// widget stands for an Application of the add-on: an object of the add-on's CRD.
const widget = "{apiVersion: pull-integration.example/v1, kind: Widget, metadata: {name: app, namespace: pull-integration}}"

var _ = Describe("The add-on argocd of Open Cluster Management", Ordered, Serial, long, func() {
	It("is removed, and the cluster keeps the objects of the add-on, after the commands of docs/takeover.md", func(ctx SpecContext) {
		on := f.Clusters()[1]
		cluster := &on.ControlPlane
		apply(ctx, pullIntegration)
		DeferCleanup(func(ctx SpecContext) {
			for plane, objects := range map[*fleet.ControlPlane][]string{
				&f.Hub.ControlPlane: {"clustermanagementaddon/argocd", "addontemplate/argocd"},
				cluster:             {"crd/widgets.pull-integration.example", "namespace/pull-integration"},
			} {
				_, err := plane.Kubectl(ctx, append([]string{"delete", "--ignore-not-found", "--wait=false"}, objects...)...)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		Eventually(ctx, func(ctx context.Context) error {
			_, err := cluster.Kubectl(ctx, "get", "crd/widgets.pull-integration.example", "namespace/pull-integration")
			return err
		}).Should(Succeed())
		_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=1m", "crd/widgets.pull-integration.example")
		Expect(err).NotTo(HaveOccurred())
		applyTo(ctx, cluster, widget)
		uid := widgetUID(ctx, cluster)

		setOrphan, wait := documentedCommand("get addontemplate argocd"), documentedCommand("addon-name=argocd")
		Expect(onHub(ctx, wait)).To(ContainSubstring("cluster2/"), "the works of the add-on wait for the annotation")
		onHub(ctx, setOrphan)
		Eventually(ctx, func(ctx context.Context) string { return onHub(ctx, wait) }).Should(BeEmpty())

		By("uninstalling the add-on")
		_, err = f.Hub.Kubectl(ctx, "delete", "managedclusteraddon", "argocd", "--namespace", "cluster2")
		Expect(err).NotTo(HaveOccurred())
		_, err = f.Hub.Kubectl(ctx, "delete", "clustermanagementaddon/argocd", "addontemplate/argocd")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return f.Hub.Kubectl(ctx, "get", "manifestworks", "-A", "-l", "open-cluster-management.io/addon-name=argocd", "-o", "name")
		}).Should(BeEmpty())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return cluster.Kubectl(ctx, "get", "appliedmanifestworks", "-o", "name")
		}).ShouldNot(ContainSubstring("addon-argocd"), "the agent has done its part of the uninstallation")
		Expect(widgetUID(ctx, cluster)).To(Equal(uid))
		deleting, err := cluster.Kubectl(ctx, "get", "crd/widgets.pull-integration.example", "-o", "jsonpath={.metadata.deletionTimestamp}")
		Expect(err).NotTo(HaveOccurred())
		Expect(deleting).To(BeEmpty())
	})
})

// documentedCommand returns the shell block of docs/takeover.md that contains a text.
func documentedCommand(text string) string {
	GinkgoHelper()
	pages, err := documented.Pages(towline.Root(), "docs/takeover.md")
	Expect(err).NotTo(HaveOccurred())
	for page, content := range pages {
		for _, block := range documented.Blocks(page, content) {
			if strings.Contains(block.Shell(), text) {
				return block.Shell()
			}
		}
	}
	Fail("docs/takeover.md has no command with " + text)
	return ""
}

// onHub runs commands in a shell with kubectl for the hub, and returns their output.
func onHub(ctx context.Context, commands string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+f.Hub.Kubeconfig(), "PATH="+filepath.Dir(f.Program("kubectl"))+":"+os.Getenv("PATH"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), stderr.String())
	return string(out)
}

// widgetUID returns the UID of the widget.
func widgetUID(ctx context.Context, plane *fleet.ControlPlane) string {
	GinkgoHelper()
	uid, err := plane.Kubectl(ctx, "get", "widget/app", "--namespace", "pull-integration", "-o", "jsonpath={.metadata.uid}")
	Expect(err).NotTo(HaveOccurred())
	return uid
}

package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// manageHub makes the hub a managed cluster too, with a separate work agent, until the spec ends.
func manageHub(ctx context.Context, name string) {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("appliedmanifestworks.work.open-cluster-management.io")
	Expect(cluster["cluster1"].Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	crd.SetResourceVersion("")
	crd.SetUID("")
	Expect(hub.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
		Expect(hub.Delete(ctx, crd)).To(Succeed())
		Eventually(ctx, read(hub, crd)).Should(BeNil())
	})

	workAgent(ctx, name, f.Hub.Kubeconfig(), func(b *fixture.ClusterBuilder) { b.Label(apis.LabelLocalCluster, "true") })
	// The agent's AppliedManifestWorks have the agent's finalizer. Without the agent, the AppliedManifestWorks and
	// their CRD would never disappear.
	DeferCleanup(func(ctx SpecContext) {
		Eventually(ctx, func(ctx context.Context) ([]workv1.AppliedManifestWork, error) {
			list := &workv1.AppliedManifestWorkList{}
			err := hub.List(ctx, list)
			return list.Items, err
		}).Should(BeEmpty())
	})
}

// workAgent makes a control plane a managed cluster with the given name, with a separate work agent, until the spec
// ends.
func workAgent(ctx context.Context, name, kubeconfig string, edits ...func(*fixture.ClusterBuilder)) {
	GinkgoHelper()
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	source, err := f.Hub.WorkSource(ctx, name, f.Hub.Kubeconfig(), GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	agent, err := f.Run(ctx, fleet.Command{Name: name + "-work-agent", Path: f.Program("work"), Args: append([]string{
		"agent", "--disable-leader-election", "--listen=" + address, "--spoke-cluster-name=" + name, "--agent-id=" + name,
		"--namespace=" + argocdNamespace, "--kubeconfig=" + kubeconfig,
	}, source...), Ready: fleet.HTTPReady("https://" + address + "/healthz")})
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

var _ = Describe("The hub as a managed cluster", inEtcd, func() {
	It("gets an Application only in a different namespace than the hub's own copy", func(ctx SpecContext) {
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

	It("gets the Application by a Placement and an ordinary template, and the hub's Argo CD deploys the Application", Serial, func(ctx SpecContext) {
		const there, folder = "towline-local", "local-settings"
		namespaceOn(ctx, hub, there)
		namespaceOn(ctx, hub, folder)
		manageHub(ctx, "local-cluster")
		_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{
			folder + "/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"}, "Add settings")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Git.Remove(ctx, fleet.AppsRepo, []string{folder + "/settings.yaml"}, "Remove settings")
			Expect(err).NotTo(HaveOccurred())
		})

		By("running Argo CD on the hub for one more namespace, and Towline with the setting for it")
		Expect(f.Hub.StartArgoCD(ctx, there)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Hub.StopArgoCD(ctx)).To(Succeed()) })
		tow.Stop()
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(ctx)).To(Succeed()) })
		setting, err := towline.Run(ctx, f, binary, "towline-local", "--propagate=app-projects,namespaces,objects", "--app-namespaces=local-cluster="+there)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(setting.Stop)

		apply(ctx, fmt.Sprintf(everywhere, there, specOf("everywhere", folder, folder)))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "-n", argocdNamespace, "placement/everywhere", "appproject/everywhere")
			Expect(err).NotTo(HaveOccurred())
		})
		withoutApplicationSet("everywhere")
		for _, on := range []string{"cluster1", "local-cluster"} {
			expectHealthy(ctx, on+"-everywhere")
		}
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: folder, Name: "settings"}}
		for _, c := range []client.Client{hub, cluster["cluster1"]} {
			Expect(read(c, settings)(ctx)).NotTo(BeNil())
		}
		landed := &argocd.Application{}
		landed.Namespace, landed.Name = there, "local-cluster-everywhere"
		Expect(read(hub, landed)(ctx)).To(HaveField("Status.Health.Status", "Healthy"))

		By("deleting the ApplicationSet")
		_, err = f.Hub.Kubectl(ctx, "delete", "applicationsets.argoproj.io", "everywhere", "--namespace", argocdNamespace, "--wait=false")
		Expect(err).NotTo(HaveOccurred())
		for _, gone := range []client.Object{named("local-cluster-everywhere"), named("cluster1-everywhere"), landed, settings} {
			Eventually(ctx, func(ctx context.Context) error { return hub.Get(ctx, client.ObjectKeyFromObject(gone), gone) }).
				Should(Satisfy(apierrors.IsNotFound), gone.GetName())
		}
	})
})

// everywhere is an ApplicationSet as in the README, for a Placement of two clusters: cluster1 and the hub. Its
// AppProject lets the hub's Argo CD accept Applications of a second namespace.
const everywhere = `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: everywhere, namespace: argocd}
spec:
  sourceRepos: ['*']
  sourceNamespaces: [%s]
  destinations: [{server: '*', namespace: '*'}]
  clusterResourceWhitelist: [{group: "", kind: Namespace}]
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: everywhere, namespace: argocd}
spec:
  clusterSets: [global]
  predicates:
  - requiredClusterSelector:
      labelSelector: {matchLabels: {name: cluster1}}
  - requiredClusterSelector:
      labelSelector: {matchLabels: {local-cluster: "true"}}
  tolerations:
  - {key: cluster.open-cluster-management.io/unreachable, operator: Exists}
  - {key: cluster.open-cluster-management.io/unavailable, operator: Exists}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: everywhere, namespace: argocd}
spec:
  generators:
  - clusterDecisionResource:
      configMapRef: ocm-placement-generator
      labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: everywhere}}
      requeueAfterSeconds: 3
  template:
    metadata:
      name: '{{name}}-everywhere'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations:
        apps.open-cluster-management.io/ocm-managed-cluster: '{{name}}'
        argocd.argoproj.io/skip-reconcile: "true"
    spec: %s
`

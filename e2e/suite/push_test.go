package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// asks sets the account whose tokens the GitOpsCluster of example/hub puts into Secrets. An empty account asks for no
// tokens.
func asks(ctx context.Context, account string) {
	GinkgoHelper()
	g, err := read(hub, clusters())(ctx)
	Expect(err).NotTo(HaveOccurred())
	before := g.DeepCopy()
	g.Spec.ManagedServiceAccountRef = account
	Expect(hub.Patch(ctx, g, client.MergeFrom(before))).To(Succeed())
}

// withReadTokens puts tokens of an account on the hub until the spec ends, and lets Towline read the tokens. An Argo CD
// may read the given clusters by these tokens.
func withReadTokens(ctx context.Context, account string, clusters ...string) {
	GinkgoHelper()
	Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/components/managed-serviceaccount/role.yaml")).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		_, err := f.Hub.Kubectl(ctx, "delete", "clusterrole,clusterrolebinding", "towline-managed-serviceaccount")
		Expect(err).NotTo(HaveOccurred())
	})
	for _, on := range clusters {
		token := mintToken(ctx, on, account)
		Expect(hub.Create(ctx, token)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
			Expect(hub.Delete(ctx, token)).To(Succeed())
		})
	}
}

// withTokens is withReadTokens with tokens by which an Argo CD may also deploy.
func withTokens(ctx context.Context, account string, clusters ...string) {
	GinkgoHelper()
	withReadTokens(ctx, account, clusters...)
	for _, on := range clusters {
		_, err := f.Cluster(on).Kubectl(ctx, "create", "clusterrolebinding", account+"-deploys", "--clusterrole=cluster-admin",
			"--serviceaccount=default:"+account)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
			_, err := f.Cluster(on).Kubectl(ctx, "delete", "clusterrolebinding", account+"-deploys")
			Expect(err).NotTo(HaveOccurred())
		})
	}
}

// namedSpec returns the spec of an Application that deploys the guestbook into a namespace of a cluster. The
// destination is the cluster's name.
func namedSpec(namespace, on string) string {
	GinkgoHelper()
	destination := fmt.Sprintf(`"server":%q`, apis.InClusterServer)
	spec := specOf("default", "guestbook", namespace)
	Expect(spec).To(ContainSubstring(destination))
	return strings.Replace(spec, destination, fmt.Sprintf(`"name":%q`, on), 1)
}

// pushed makes an Application without the pull label. The hub's Argo CD deploys the Application to a cluster by the
// cluster's Secret.
func pushed(ctx context.Context, name, on string) {
	GinkgoHelper()
	app := fixture.Application(name).NoLabel(apis.LabelPull).NoAnnotation(apis.AnnotationCluster).NoAnnotation(apis.AnnotationSkipReconcile).
		Spec(namedSpec(name, on)).Finalizers(apis.FinalizerResources).Obj()
	app.UID = ""
	Expect(hub.Create(ctx, app)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
		Expect(client.IgnoreNotFound(hub.Delete(ctx, app))).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
	})
}

var _ = Describe("Push beside pull", Serial, func() {
	const account = "argocd-pusher"

	It("deploys unlabelled Applications by the Secret of a GitOpsCluster, and no pulled Application", func(ctx SpecContext) {
		pulled := standalone(ctx, "beside-pushed", "cluster1")
		expectAtRest(ctx, pulled.Name)
		work, err := read(hub, workOf(pulled))(ctx)
		Expect(err).NotTo(HaveOccurred())
		ran := deployment(ctx, "cluster1", pulled.Name)

		withTokens(ctx, account, "cluster1", "cluster2", "cluster3")
		asks(ctx, account)
		DeferCleanup(asks, "")
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "3 clusters"))
		Expect(f.Hub.StartArgoCD(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Hub.StopArgoCD(ctx)).To(Succeed()) })

		began := time.Now()
		pushed(ctx, "pushed", "cluster1")
		expectHealthy(ctx, "pushed")
		AddReportEntry(fmt.Sprintf("pushed and Healthy after %.1f s", time.Since(began).Seconds()))
		deployment(ctx, "cluster1", "pushed")
		Expect(read(cluster["cluster1"], named("pushed"))(ctx)).To(BeNil(), "it was pulled")
		// The cluster may heal the Application at any time. The work then asks for extra feedback until the hub shows
		// the sync, and is as before afterwards.
		expectAtRest(ctx, pulled.Name)
		Expect(read(hub, workOf(pulled))(ctx)).To(And(HaveField("UID", work.UID), HaveField("Spec", work.Spec),
			HaveField("Labels", work.Labels), HaveField("Annotations", work.Annotations)))
		Expect(deployment(ctx, "cluster1", pulled.Name)).To(And(HaveField("UID", ran.UID), HaveField("Generation", ran.Generation)))
		expectHealthy(ctx, pulled.Name)
	}, NodeTimeout(2*soon))

	It("works with a handmade Secret, which the GitOpsCluster names, and takes the Secret over on request", func(ctx SpecContext) {
		by := func(ctx context.Context) {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, secretOf("cluster1")))).To(Succeed())
		}
		var s *corev1.Secret
		Eventually(ctx, func(ctx context.Context) (_ *corev1.Secret, err error) {
			s, err = read(hub, secretOf("cluster1"))(ctx)
			return s, err
		}).ShouldNot(BeNil())
		hand := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: argocdNamespace, Name: "cluster1-secret", Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeCluster, "name": "cluster1"},
		}, StringData: map[string]string{"name": "cluster1", "server": string(s.Data["server"])}}
		Expect(hub.Create(ctx, hand)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, hand))).To(Succeed())
			Eventually(ctx, read(hub, secretOf("cluster1"))).ShouldNot(BeNil()) // the next spec has its clusters again
		})
		by(ctx) // now the hand-made Secret is the only Secret of the cluster
		Eventually(ctx, read(hub, clusters())).Should(And(
			says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "cluster1 by cluster1-secret"),
			HaveField("Status.Phase", "successful")))
		show(ctx, "what the GitOpsCluster says", "get", "gitopscluster", "clusters", "-o", "jsonpath={.status.phase}: {.status.message}")
		before, err := read(hub, hand)(ctx)
		Expect(err).NotTo(HaveOccurred())

		By("pulling with the generator of clusters, by the handmade Secret")
		apply(ctx, fmt.Sprintf(handMade, specOf("default", "guestbook", "by-hand")))
		withoutApplicationSet("by-hand", "cluster1-by-hand")
		expectHealthy(ctx, "cluster1-by-hand")

		By("requesting tokens, which stay out of the handmade Secret")
		withTokens(ctx, account, "cluster1", "cluster2", "cluster3")
		asks(ctx, account)
		DeferCleanup(asks, "")
		Eventually(ctx, read(hub, clusters())).Should(And(
			says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "label secret "+hand.Name),
			HaveField("Status.Phase", "successful")))
		Expect(read(hub, hand)(ctx)).To(HaveField("ResourceVersion", before.ResourceVersion))
		show(ctx, "what it says where tokens are asked for", "get", "gitopscluster", "clusters", "-o", "jsonpath={.status.phase}: {.status.message}")

		By("pushing by the Secret after the handover")
		_, err = f.Hub.Kubectl(ctx, "label", "secret", hand.Name, "--namespace", argocdNamespace,
			apis.LabelImported+"=true", apis.LabelClusterName+"=cluster1")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, read(hub, hand)).Should(And(HaveField("UID", before.UID), configured(ContainSubstring("bearerToken"))))
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "3 clusters"))
		Expect(f.Hub.StartArgoCD(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Hub.StopArgoCD(ctx)).To(Succeed()) })
		pushed(ctx, "pushed-by-hand", "cluster1")
		expectHealthy(ctx, "pushed-by-hand")
		deployment(ctx, "cluster1", "pushed-by-hand")
		expectHealthy(ctx, "cluster1-by-hand")
	}, NodeTimeout(2*soon))
})

// handMade is an ApplicationSet for the cluster of a hand-made Secret.
const handMade = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: by-hand, namespace: argocd}
spec:
  generators:
  - clusters: {selector: {matchLabels: {name: cluster1}}}
  template:
    metadata:
      name: '{{name}}-by-hand'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations:
        apps.open-cluster-management.io/ocm-managed-cluster: '{{name}}'
        argocd.argoproj.io/skip-reconcile: "true"
    spec: %s
`

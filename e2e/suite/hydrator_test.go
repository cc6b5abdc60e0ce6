package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// hydrated sets the spec of an Application with a source hydrator. The cluster's Argo CD renders the manifests from the
// root of a repository. It commits the result to a branch for the cluster, and deploys from this branch. more is added
// to the dry source.
func hydrated(repo, on string, more ...string) func(*fixture.ApplicationBuilder) {
	dry := append([]string{fmt.Sprintf(`"repoURL":%q,"path":".","targetRevision":"main"`, f.Git.URL(repo))}, more...)
	var parts map[string]json.RawMessage
	Expect(json.Unmarshal([]byte(spec(".", repo)), &parts)).To(Succeed())
	delete(parts, "source")
	parts["sourceHydrator"] = json.RawMessage(fmt.Sprintf(`{"drySource":{%s},"syncSource":{"targetBranch":"environments/%s","path":"out"}}`,
		strings.Join(dry, ","), on))
	own, err := json.Marshal(parts)
	Expect(err).NotTo(HaveOccurred())
	return func(b *fixture.ApplicationBuilder) { b.Spec(string(own)) }
}

// rendering returns a kustomization with a name prefix for a file of the repository.
func rendering(file, prefix string) map[string]string {
	return map[string]string{"kustomization.yaml": fmt.Sprintf("resources: [%s]\nnamePrefix: %s-\n", file, prefix)}
}

// expectRefreshed waits until a refresh on the hub has been answered.
func expectRefreshed(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(ctx, read(hub, named(name))).Should(HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))))
}

var _ = Describe("Argo CD's source hydrator", func() {
	It("hydrates a pulled Application on the cluster, and the hub shows failures", func(ctx SpecContext) {
		const name, file = "hydrated", "configmap.yaml"
		on := clustersWith("3", "the source hydrator")[0]
		Expect(f.Cluster(on).StartCommitServer(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StopCommitServer(ctx)).To(Succeed()) })
		Expect(f.Git.Create(ctx, name, testdataFS(file))).To(Succeed())
		commits := func(change map[string]string) {
			GinkgoHelper()
			_, err := f.Git.Commit(ctx, name, change, "Change what is rendered")
			Expect(err).NotTo(HaveOccurred())
		}
		// A refresh on the hub makes the cluster look for commits, as a refresh in the cluster's own Argo CD would.
		// While an earlier refresh is unanswered, a new request changes no object, and the answer may be about the
		// previous commit.
		refreshed := func() {
			GinkgoHelper()
			expectRefreshed(ctx, name)
			patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"normal"}}}`, apis.AnnotationRefresh))
		}
		deployed := func(prefix string) {
			GinkgoHelper()
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: prefix + "-settings"}}
			Eventually(ctx, read(cluster[on], config)).ShouldNot(BeNil())
		}
		commits(rendering(file, "first"))
		began := time.Now()
		standalone(ctx, name, on, hydrated(name, on))
		expectHealthy(ctx, name)
		deployed("first")
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			hydratedAs, _, _ := unstructured.NestedString(whole(ctx, cluster[on], name).Object,
				"status", "sourceHydrator", "lastSuccessfulOperation", "hydratedSHA")
			g.Expect(hydratedAs).NotTo(BeEmpty())
			g.Expect(read(hub, named(name))(ctx)).To(HaveField("Status.Sync.Revision", hydratedAs))
		}).Should(Succeed(), "the hub shows another revision than what was hydrated")
		AddReportEntry(fmt.Sprintf("hydrated, pushed, deployed and Healthy on the hub after %.1f s", time.Since(began).Seconds()))

		By("a commit, and a refresh on the hub")
		commits(rendering(file, "second"))
		began = time.Now()
		refreshed()
		deployed("second")
		AddReportEntry(fmt.Sprintf("the next commit is deployed after %.1f s", time.Since(began).Seconds()))

		By("a commit that cannot be rendered")
		commits(rendering("missing.yaml", "third"))
		began = time.Now()
		refreshed()
		expectCondition(ctx, name, apis.ConditionHydrationError, "missing.yaml")
		AddReportEntry(fmt.Sprintf("the hub says why after %.1f s", time.Since(began).Seconds()))
		message, err := conditionMessage(ctx, name, apis.ConditionHydrationError)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("HydrationError", message)
		expectHealthy(ctx, name) // the previously hydrated version stays

		By("a commit that can be rendered")
		commits(rendering(file, "fourth"))
		refreshed()
		deployed("fourth")
		expectNoCondition(ctx, name, apis.ConditionHydrationError)

		By("a commit that cannot be pushed, and a refresh after the fix: Argo CD tries again after two minutes")
		Expect(f.Cluster(on).StopCommitServer(ctx)).To(Succeed())
		commits(rendering(file, "fifth"))
		refreshed()
		expectCondition(ctx, name, apis.ConditionHydrationError, "failed to commit hydrated manifests")
		Expect(f.Cluster(on).StartCommitServer(ctx)).To(Succeed())
		began = time.Now()
		refreshed()
		deployed("fifth")
		AddReportEntry(fmt.Sprintf("what failed is deployed %.1f s after the refresh", time.Since(began).Seconds()))
		expectNoCondition(ctx, name, apis.ConditionHydrationError)
		Expect(whole(ctx, hub, name).Object["status"]).NotTo(HaveKey("sourceHydrator"))
	}, NodeTimeout(2*soon))

	It("has fields that 2.14 refuses by name", func(ctx SpecContext) {
		needArgoCD3("new fields of the source hydrator") // the CRD of an older version drops the fields on the hub
		const name = "hydrated-older"
		on := clustersWith("2.14", "fields that 2.14 refuses")[0]
		Expect(f.Git.Create(ctx, name, testdataFS("configmap.yaml"))).To(Succeed())
		standalone(ctx, name, on, hydrated(name, on, `"kustomize":{"namePrefix":"new-"}`))
		expectCondition(ctx, name, apis.ConditionWorkApplyError, ".spec.sourceHydrator.drySource.kustomize")
		message, err := conditionMessage(ctx, name, apis.ConditionWorkApplyError)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("on Argo CD 2.14: " + message)
	})
})

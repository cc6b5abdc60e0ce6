package suite

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// The patches for the edits of docs/push-to-pull.md.
var (
	skipEdit   = annotationPatch(apis.AnnotationSkipReconcile, "true")
	pullEdit   = fmt.Sprintf(`{"metadata":{"labels":{%q:"true"},"annotations":{%q:"cluster1"}}}`, apis.LabelPull, apis.AnnotationCluster)
	manualEdit = `{"spec":{"syncPolicy":{"automated":null}}}`
	pushEdit   = fmt.Sprintf(`{"metadata":{"labels":{%q:null},"annotations":{%q:null,%q:null}}}`,
		apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile)
	unlabelEdit = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, apis.LabelPull)
	labelEdit   = fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, apis.LabelPull)
	autoEdit    = `{"spec":{"syncPolicy":{"automated":{"prune":true,"selfHeal":true}}}}`
)

// withPusher lets the hub's Argo CD deploy to the clusters of the fleet until the spec ends.
func withPusher(ctx context.Context, account string) {
	GinkgoHelper()
	withTokens(ctx, account, "cluster1", "cluster2", "cluster3")
	asks(ctx, account)
	DeferCleanup(asks, "")
	Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "3 clusters"))
	Expect(f.Hub.StartArgoCD(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(f.Hub.StopArgoCD(ctx)).To(Succeed()) })
}

// workload returns the guestbook in a namespace of a cluster: the UID of its Deployment with the generation, and the
// UIDs of its pods.
func workload(ctx context.Context, on, namespace string) map[types.UID]int64 {
	GinkgoHelper()
	d := deployment(ctx, on, namespace)
	out := map[types.UID]int64{d.UID: d.Generation}
	pods := &corev1.PodList{}
	Expect(cluster[on].List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
	for _, p := range pods.Items {
		out[p.UID] = 0
	}
	return out
}

// comparedByHub returns whether the status on the hub has the field comparedTo. Only an Argo CD of the hub writes this
// field on the hub.
func comparedByHub(ctx context.Context, name string) bool {
	GinkgoHelper()
	_, found, err := unstructured.NestedMap(whole(ctx, hub, name).Object, "status", "sync", "comparedTo")
	Expect(err).NotTo(HaveOccurred())
	return found
}

// deploysByItself returns a function that tells whether the cluster has the Application with automated sync.
func deploysByItself(on, name string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		app, err := read(cluster[on], named(name))(ctx)
		return app != nil && strings.Contains(string(app.Spec.Raw), `"automated"`), err
	}
}

var _ = Describe("A change between push and pull", Serial, func() {
	const on = "cluster1"

	It("keeps the workload in both directions, with one Argo CD at a time", long, func(ctx SpecContext) {
		withPusher(ctx, "argocd-switcher")
		const name = "switched"
		pushed(ctx, name, on)
		expectHealthy(ctx, name)
		Eventually(ctx, func(ctx context.Context) bool { return comparedByHub(ctx, name) }).Should(BeTrue())
		before := workload(ctx, on, name)
		life := lifeOf(ctx, on, &appsv1.DeploymentList{}, guestbookOf(name))

		By("pulling")
		patchHub(ctx, name, skipEdit)
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Operation", BeNil()))
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		patchHub(ctx, name, pullEdit)
		Eventually(ctx, deploysByItself(on, name)).Should(BeTrue())
		expectAtRest(ctx, name)
		Eventually(ctx, func(ctx context.Context) bool { return comparedByHub(ctx, name) }).Should(BeFalse(), "the hub shows what its own Argo CD compared")
		pulled, err := read(hub, named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pulled.Status.Resources).To(BeEmpty(), "no agent tells of resources")
		Expect(pulled.Status.Conditions).To(BeEmpty())
		Expect(workload(ctx, on, name)).To(Equal(before))

		By("pushing again")
		work := workOf(pulled)
		patchHub(ctx, name, manualEdit)
		Eventually(ctx, deploysByItself(on, name)).Should(BeFalse())
		expectAtRest(ctx, name)
		patchHub(ctx, name, pushEdit)
		Eventually(ctx, read(hub, work)).Should(BeNil())
		Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
		Expect(workload(ctx, on, name)).To(Equal(before))
		expectNoCondition(ctx, name, apis.ConditionReleaseWarning)
		patchHub(ctx, name, autoEdit)
		Eventually(ctx, func(ctx context.Context) bool { return comparedByHub(ctx, name) }).Should(BeTrue())
		back := expectHealthy(ctx, name)
		Expect(back.Status.Conditions).To(BeEmpty())
		Expect(back.Status.Resources).NotTo(BeEmpty())
		Expect(workload(ctx, on, name)).To(Equal(before))
		_, gone := life()
		Expect(gone).To(BeZero(), "the Deployment was deleted")

		By("letting the hub's Argo CD heal the Application")
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
		Expect(cluster[on].Patch(ctx, guestbookOf(name), patch)).To(Succeed())
		Eventually(ctx, read(cluster[on], guestbookOf(name))).Should(HaveField("Spec.Replicas", HaveValue(BeNumerically("==", 1))))
	}, NodeTimeout(2*soon))

	It("is safe in a wrong order", long, func(ctx SpecContext) {
		withPusher(ctx, "argocd-switcher")
		app := standalone(ctx, "switched-at-once", on, func(b *fixture.ApplicationBuilder) { b.Spec(namedSpec("switched-at-once", on)) })
		expectAtRest(ctx, app.Name)
		before, work := workload(ctx, on, app.Name), workOf(app)

		By("removing the label first")
		patchHub(ctx, app.Name, unlabelEdit)
		expectCondition(ctx, app.Name, apis.ConditionReleaseWarning, "Do not remove the annotation argocd.argoproj.io/skip-reconcile now")
		show(ctx, "what the hub says of an Application without the label",
			"get", "applications.argoproj.io", app.Name, "-o", "jsonpath={.status.conditions}")
		patchHub(ctx, app.Name, labelEdit)
		expectAtRest(ctx, app.Name)

		By("removing skip-reconcile alone")
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationSkipReconcile, ""))
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "both Argo CDs may deploy")
		Expect(read(hub, work)(ctx)).To(HaveField("DeletionTimestamp", BeNil()))

		By("removing the others, with automated sync")
		patchHub(ctx, app.Name, pushEdit)
		Eventually(ctx, read(hub, work)).Should(BeNil())
		Eventually(ctx, read(cluster[on], named(app.Name))).Should(BeNil())
		Eventually(ctx, func(ctx context.Context) bool { return comparedByHub(ctx, app.Name) }).Should(BeTrue())
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, apis.ConditionReleaseWarning)
		Expect(workload(ctx, on, app.Name)).To(Equal(before))
	}, NodeTimeout(2*soon))

	It("waits for a sync that the hub's Argo CD has begun", long, func(ctx SpecContext) {
		withPusher(ctx, "argocd-switcher")
		const name = "switched-midway"
		Expect(f.Git.Create(ctx, name, testdataFS("configmap.yaml"))).To(Succeed())
		_, err := f.Git.Commit(ctx, name, map[string]string{"service.yaml": hanging}, "Hang")
		Expect(err).NotTo(HaveOccurred())
		pushed(ctx, name, on)
		patchHub(ctx, name, fmt.Sprintf(`{"spec":{"source":{"repoURL":%q,"path":"."}}}`, f.Git.URL(name)))
		Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, hub, name) }).Should(HavePrefix("Running"))
		patchHub(ctx, name, skipEdit)
		patchHub(ctx, name, pullEdit)
		expectCondition(ctx, name, apis.ConditionPropagationError, "the hub's own Argo CD has begun a sync")
		Eventually(ctx, eventNote(named(name), apis.ReasonHubOperationRunning)).ShouldNot(BeEmpty())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		patchHub(ctx, name, `{"operation":null}`)
		Eventually(ctx, read(cluster[on], named(name))).Should(Not(BeNil()))
		Eventually(ctx, read(hub, workOf(readNow(ctx, name)))).Should(Not(BeNil()))
	}, NodeTimeout(2*soon))
})

// readNow reads an Application of the hub, and fails if the Application does not exist.
func readNow(ctx context.Context, name string) *argocd.Application {
	GinkgoHelper()
	app, err := read(hub, named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(app).NotTo(BeNil())
	return app
}

package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

var _ = Describe("A cluster that goes and comes", Ordered, func() {
	const on = "cluster3"
	var app *argocd.Application
	var before []types.UID

	managed := func() *clusterv1.ManagedCluster {
		mc := &clusterv1.ManagedCluster{}
		mc.Name = on
		return mc
	}
	// anew expects the Application to run on the cluster as a new object with a new UID.
	anew := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, read(cluster[on], named(app.Name))).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(before[0])))))
		deployment(ctx, on, app.Name)
		expectHealthy(ctx, app.Name)
		after := uids(ctx, on, app.Name)
		AddReportEntry(fmt.Sprintf("before: %v, after: %v", before, after))
		before = after
	}

	BeforeAll(func(ctx SpecContext) {
		app = standalone(ctx, "goes-and-comes", on)
		expectHealthy(ctx, app.Name)
		before = uids(ctx, on, app.Name)
	})

	It("gets all Applications back if rebuilt from nothing under its name, without a change on the hub", nightly, func(ctx SpecContext) {
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Cluster(on).Rebuild(ctx)).To(Succeed())
		Expect(towline.Apply(ctx, f, &f.Cluster(on).ControlPlane, "example/managed")).To(Succeed())
		anew(ctx)
		Expect(read(hub, workOf(app))(ctx)).To(HaveField("UID", w.UID))
	})

	It("keeps its workload while the hub does not accept the cluster, and follows the hub afterwards", func(ctx SpecContext) {
		accept := func(ctx context.Context, accepted bool) {
			patch := fmt.Sprintf(`{"spec":{"hubAcceptsClient":%t}}`, accepted)
			Expect(hub.Patch(ctx, managed(), client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		}
		accept(ctx, false)
		DeferCleanup(func(ctx SpecContext) { accept(ctx, true) })
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "is not accepted")
		expectCondition(ctx, app.Name, apis.ConditionClusterUnreachableWarning, "has not been available since")
		patchHub(ctx, app.Name, annotationPatch("note", "x"))
		Expect(read(cluster[on], named(app.Name))(ctx)).To(HaveField("Annotations", Not(HaveKey("note"))))
		Expect(uids(ctx, on, app.Name)).To(Equal(before))
		accept(ctx, true)
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		expectNoCondition(ctx, app.Name, apis.ConditionClusterUnreachableWarning)
		Eventually(ctx, read(cluster[on], named(app.Name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "x")))
		Expect(uids(ctx, on, app.Name)).To(Equal(before))
	})

	It("gets all Applications back if its ManagedCluster was deleted and is imported again", func(ctx SpecContext) {
		Expect(hub.Delete(ctx, managed())).To(Succeed())
		Eventually(ctx, read(hub, managed())).Should(BeNil())
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, `ManagedCluster "`+on+`" does not exist`)
		// OCM's registration controller deletes the works of the cluster for a moment longer, even works made after a
		// new import. The work agent would then lose the Application, and would not look at the work again for minutes.
		Eventually(ctx, read(cluster[on], named(app.Name))).Should(BeNil())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Consistently(ctx, read(hub, workOf(app))).WithTimeout(2 * time.Second).Should(BeNil())
		Expect(f.Cluster(on).Import(ctx)).To(Succeed())
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		deployment(ctx, on, app.Name)
		expectHealthy(ctx, app.Name)
		AddReportEntry(fmt.Sprintf("before: %v, after: %v", before, uids(ctx, on, app.Name)))
	})

	It("causes a move if it comes back under a new name", func(ctx SpecContext) {
		const renamed = "renamed"
		follows := standalone(ctx, "follows", on)
		expectHealthy(ctx, follows.Name)
		Expect(hub.Delete(ctx, managed())).To(Succeed())
		Eventually(ctx, read(hub, managed())).Should(BeNil())
		Eventually(ctx, read(cluster[on], named(follows.Name))).Should(BeNil()) // the agent removes the applied objects
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
			Expect(f.Cluster(on).Import(ctx)).To(Succeed())
			expectHealthy(ctx, app.Name)
		})
		workAgent(ctx, renamed, f.Cluster(on).Kubeconfig())
		expectCondition(ctx, follows.Name, apis.ConditionPropagationError, `ManagedCluster "`+on+`" does not exist`)

		patchHub(ctx, follows.Name, annotationPatch(apis.AnnotationCluster, renamed))
		expectNoCondition(ctx, follows.Name, apis.ConditionPropagationError)
		deployment(ctx, on, follows.Name)
		expectHealthy(ctx, follows.Name)
		Expect(hub.Delete(ctx, follows)).To(Succeed())
		Eventually(ctx, read(hub, follows)).Should(BeNil())
		Expect(read(cluster[on], named(follows.Name))(ctx)).To(BeNil())
	})
})

package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// scores gives each cluster the score of example/best-cluster-application.yaml.
func scores(ctx context.Context, free map[string]int32) {
	GinkgoHelper()
	for on, value := range free {
		score := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: on, Name: "capacity"}}
		Expect(client.IgnoreAlreadyExists(hub.Create(ctx, score.DeepCopy()))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			if err := hub.Get(ctx, client.ObjectKeyFromObject(score), score); err != nil {
				return err
			}
			score.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "free", Value: value}}
			return hub.Status().Update(ctx, score)
		}).Should(Succeed())
	}
}

var _ = Describe("An Application that follows a Placement", Serial, usesRights, func() {
	It("goes to the best cluster under one name, and to the next cluster after a loss", func(ctx SpecContext) {
		const name = "best-guestbook"
		scores(ctx, map[string]int32{"cluster1": 10, "cluster2": 50, "cluster3": 30})
		DeferCleanup(func(ctx SpecContext) {
			for _, kind := range []string{"applications.argoproj.io/" + name, "placement/best-cluster-application"} {
				_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, kind, "--wait=false")
				Expect(err).NotTo(HaveOccurred())
			}
			Eventually(ctx, read(hub, named(name))).Should(BeNil())
			_, err := f.Hub.Kubectl(ctx, "delete", "addonplacementscores", "--all-namespaces", "--all")
			Expect(err).NotTo(HaveOccurred())
		})
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/best-cluster-application.yaml")).To(Succeed())
		at := func(on string) {
			GinkgoHelper()
			Eventually(ctx, read(hub, named(name))).Should(And(
				WithTransform((*argocd.Application).Cluster, Equal(on)), HaveField("Status.Health.Status", "Healthy")))
			deployment(ctx, on, "guestbook")
		}
		at("cluster2")

		By("losing its cluster")
		began := time.Now()
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		back := func(ctx context.Context) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) }
		DeferCleanup(back)
		at("cluster3")
		AddReportEntry(fmt.Sprintf("Healthy on the next cluster %.1f s after its own was lost", time.Since(began).Seconds()))
		expectNoCondition(ctx, name, apis.ConditionPlacementWarning)

		By("the return of the old cluster, which removes the Application, or gets the Application back")
		back(ctx)
		at("cluster2")
		for _, on := range []string{"cluster1", "cluster3"} {
			Eventually(ctx, read(cluster[on], named(name))).Should(BeNil(), on)
			Eventually(ctx, read(cluster[on], guestbookOf("guestbook"))).Should(BeNil(), on)
		}

		By("a Placement without a choice, which removes no Application")
		_, err := f.Hub.Kubectl(ctx, "patch", "placement", "best-cluster-application", "--namespace", argocdNamespace, "--type=merge", "--patch",
			`{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"name":"nowhere"}}}}]}}`)
		Expect(err).NotTo(HaveOccurred())
		expectCondition(ctx, name, apis.ConditionPlacementWarning, "stays on cluster cluster2")
		Expect(read(cluster["cluster2"], named(name))(ctx)).NotTo(BeNil())
	}, NodeTimeout(2*soon))
})

package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// uids returns the UIDs of an Application, its guestbook Deployment, and the Deployment's Pods on a cluster.
func uids(ctx context.Context, on, name string) []types.UID {
	GinkgoHelper()
	app, err := read(cluster[on], named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(app).NotTo(BeNil())
	out := []types.UID{app.UID, deployment(ctx, on, name).UID}
	pods := &corev1.PodList{}
	Expect(cluster[on].List(ctx, pods, client.InNamespace(name))).To(Succeed())
	for _, p := range pods.Items {
		out = append(out, p.UID)
	}
	return out
}

// annotationPatch returns a merge patch that sets an annotation. An empty value removes the annotation.
func annotationPatch(key, value string) string {
	if value == "" {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, key)
	}
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
}

var _ = Describe("A release", func() {
	noLabel := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, apis.LabelPull)
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, apis.LabelPull)

	It("keeps the workload running, and is undone without a restart of the workload", func(ctx SpecContext) {
		for name, c := range map[string]struct{ off, on string }{
			"let-go":        {annotationPatch(apis.AnnotationRelease, "true"), annotationPatch(apis.AnnotationRelease, "")},
			"unlabelled":    {noLabel, label},
			"unskipped-now": {annotationPatch(apis.AnnotationSkipReconcile, ""), annotationPatch(apis.AnnotationSkipReconcile, "true")},
			"nowhere":       {annotationPatch(apis.AnnotationCluster, ""), annotationPatch(apis.AnnotationCluster, "cluster2")},
		} {
			app := standalone(ctx, name, "cluster2")
			expectHealthy(ctx, name)
			before := uids(ctx, "cluster2", name)
			AddReportEntry(fmt.Sprintf("%s before: %v", name, before))

			patchHub(ctx, name, c.off)
			Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
			Expect(uids(ctx, "cluster2", name)).To(Equal(before))
			there, err := read(cluster["cluster2"], named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(there.Finalizers).To(BeEmpty())
			Expect(there.OwnerReferences).To(BeEmpty())

			patchHub(ctx, name, c.on)
			Eventually(ctx, read(cluster["cluster2"], named(name))).Should(And(
				HaveField("Finalizers", ContainElement(apis.FinalizerResources)), HaveField("OwnerReferences", HaveLen(1))))
			expectHealthy(ctx, name)
			Expect(uids(ctx, "cluster2", name)).To(Equal(before))
			AddReportEntry(fmt.Sprintf("%s after: %v", name, before))
		}
	})

	It("waits for an unreachable cluster, and survives restarts and the deletion of the hub's Application", func(ctx SpecContext) {
		app := standalone(ctx, "let-go-late", "cluster2")
		expectAtRest(ctx, app.Name)
		before := uids(ctx, "cluster2", app.Name)
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, "true"))
		expectCondition(ctx, app.Name, apis.ConditionReleaseWarning, "waiting for the work agent of cluster cluster2")
		Expect(tow.Kill()).To(Succeed())
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(And(
			HaveField("Spec.DeleteOption", Not(BeNil())), HaveField("DeletionTimestamp", BeNil())))
		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(uids(ctx, "cluster2", app.Name)).To(Equal(before))
	})
})

var _ = Describe("A deletion after a release", func() {
	It("by a lost label ends on the hub, and keeps the workload on the cluster", func(ctx SpecContext) {
		app := standalone(ctx, "label-lost", "cluster2")
		expectHealthy(ctx, app.Name)
		before := uids(ctx, "cluster2", app.Name)
		DeferCleanup(func(ctx SpecContext) { removeFrom(ctx, "cluster2", app.Name) })
		patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, apis.LabelPull))
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		expectCondition(ctx, app.Name, apis.ConditionReleaseWarning, "while the label")
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(uids(ctx, "cluster2", app.Name)).To(Equal(before))
		AddReportEntry(fmt.Sprintf("gone from the hub, on the cluster: %v", before))
	})

	It("that waits for a cluster heeds force-delete without the label", func(ctx SpecContext) {
		app := standalone(ctx, "label-lost-away", "cluster2")
		expectAtRest(ctx, app.Name)
		before := uids(ctx, "cluster2", app.Name)
		DeferCleanup(func(ctx SpecContext) { removeFrom(ctx, "cluster2", app.Name) })
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, apis.LabelPull))
		expectCondition(ctx, app.Name, apis.ConditionReleaseWarning, "waiting for the work agent of cluster cluster2")
		Expect(hub.Delete(ctx, app)).To(Succeed())
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationForceDelete, "true"))
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(uids(ctx, "cluster2", app.Name)).To(Equal(before))
	})
})

// removeFrom removes an unmanaged Application and its resources from a cluster.
func removeFrom(ctx context.Context, on, name string) {
	GinkgoHelper()
	cascade := fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, apis.FinalizerResources)
	Expect(cluster[on].Patch(ctx, named(name), client.RawPatch("application/merge-patch+json", []byte(cascade)))).To(Succeed())
	Expect(cluster[on].Delete(ctx, named(name))).To(Succeed())
	Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
}

var _ = Describe("A pause", usesRights, func() {
	It("of a cluster holds changes and deletions, and shows the cluster's reports", func(ctx SpecContext) {
		app := standalone(ctx, "paused", "cluster2")
		expectHealthy(ctx, app.Name)
		pause := func(ctx context.Context, value string) {
			_, err := f.Hub.Kubectl(ctx, "patch", "namespace", "cluster2", "--type", "merge", "-p", annotationPatch(apis.AnnotationPaused, value))
			Expect(err).NotTo(HaveOccurred())
		}
		pause(ctx, "true")
		DeferCleanup(func(ctx SpecContext) { pause(ctx, "") })
		expectCondition(ctx, app.Name, apis.ConditionPausedWarning, "Namespace cluster2")
		patchHub(ctx, app.Name, annotationPatch("note", "x"))
		Eventually(ctx, read(hub, app)).Should(HaveField("Annotations", HaveKeyWithValue("note", "x")))
		before, err := read(hub, app)(ctx)
		Expect(err).NotTo(HaveOccurred())
		first := deployment(ctx, "cluster2", app.Name)
		Expect(cluster["cluster2"].Delete(ctx, first)).To(Succeed()) // the cluster heals the Deployment and reports the change
		Eventually(ctx, read(cluster["cluster2"], first.DeepCopy())).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(first.UID)))))
		Eventually(ctx, read(hub, app)).Should(HaveField("Status", Not(Equal(before.Status))))
		Expect(hub.Delete(ctx, app)).To(Succeed())
		expectCondition(ctx, app.Name, apis.ConditionPausedWarning, "the deletion waits")
		Expect(read(hub, workOf(app))(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(read(cluster["cluster2"], named(app.Name))(ctx)).To(HaveField("Annotations", Not(HaveKey("note"))))
		pause(ctx, "")
		Eventually(ctx, read(hub, app)).Should(BeNil())
	})

	It("with an unreadable value holds too, and shows a condition", func(ctx SpecContext) {
		app := standalone(ctx, "paused-somehow", "cluster1")
		expectAtRest(ctx, app.Name)
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationPaused, "yes"))
		expectCondition(ctx, app.Name, apis.ConditionPausedWarning, `whose value "yes" is neither true nor false`)
		patchHub(ctx, app.Name, annotationPatch("held", "x"))
		// Towline may write the work because of the cluster's own changes, but not because of the annotation.
		Consistently(ctx, read(hub, workOf(app))).WithTimeout(10 * tick).Should(HaveField("Spec.Workload.Manifests",
			HaveExactElements(HaveField("Raw", Not(ContainSubstring(`"held"`))))))
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationPaused, ""))
		Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(HaveField("Annotations", HaveKeyWithValue("held", "x")))
		expectNoCondition(ctx, app.Name, apis.ConditionPausedWarning)
	})
})

var _ = Describe("A move", func() {
	It("taken back half way ends in one work, and old-first never runs twice", func(ctx SpecContext) {
		app := standalone(ctx, "there-and-back", "cluster1")
		expectAtRest(ctx, app.Name)
		before := uids(ctx, "cluster1", app.Name)
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationCluster, "cluster2"))
		expectCondition(ctx, app.Name, apis.ConditionMoveWarning, "cluster cluster1 keeps the Application until")
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationCluster, "cluster1"))
		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		expectNoCondition(ctx, app.Name, apis.ConditionMoveWarning)
		expectHealthy(ctx, app.Name)
		Expect(uids(ctx, "cluster1", app.Name)).To(Equal(before))
		Eventually(ctx, read(cluster["cluster2"], named(app.Name))).Should(BeNil())

		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationMoveOrder, apis.MoveOldFirst))
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationCluster, "cluster2"))
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			there, err := read(cluster["cluster2"], guestbookOf(app.Name))(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			here, err := read(cluster["cluster1"], guestbookOf(app.Name))(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			if there != nil && here != nil {
				StopTrying("it runs on both clusters").Now()
			}
			g.Expect(there).NotTo(BeNil())
		}).Should(Succeed())
		Expect(read(hub, &argocd.Application{ObjectMeta: app.ObjectMeta})(ctx)).NotTo(BeNil())
		expectHealthy(ctx, app.Name)
	})

	It("old-first to an unreachable cluster waits on the old cluster, and continues after the outage", func(ctx SpecContext) {
		app := standalone(ctx, "not-nowhere", "cluster1", func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
		})
		expectHealthy(ctx, app.Name)
		before := uids(ctx, "cluster1", app.Name)
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		to := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster2"}}
		Eventually(ctx, read(hub, to)).Should(WithTransform(managedcluster.Unreachable, Not(BeEmpty())))

		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationCluster, to.Name))
		expectCondition(ctx, app.Name, apis.ConditionMoveWarning, "cluster cluster2 has not been available since")
		expectCondition(ctx, app.Name, apis.ConditionMoveWarning, "cluster cluster1 keeps the Application")
		Expect(uids(ctx, "cluster1", app.Name)).To(Equal(before))
		message, err := conditionMessage(ctx, app.Name, apis.ConditionMoveWarning)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry(message)

		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		deployment(ctx, "cluster2", app.Name)
		Expect(read(cluster["cluster1"], guestbookOf(app.Name))(ctx)).To(BeNil())
		expectNoCondition(ctx, app.Name, apis.ConditionMoveWarning)
		expectHealthy(ctx, app.Name)
	})
})

var _ = Describe("A deletion", func() {
	It("names the silent cluster, and ends without the cluster on request", func(ctx SpecContext) {
		app := standalone(ctx, "forced", "cluster2", func(b *fixture.ApplicationBuilder) { b.Spec(spec("guestbook", "forced")) })
		expectAtRest(ctx, app.Name)
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		Expect(hub.Delete(ctx, app)).To(Succeed())
		expectCondition(ctx, app.Name, apis.ConditionDeletionWarning, "waiting for cluster cluster2")
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationForceDelete, "true"))
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(deployment(ctx, "cluster2", app.Name)).NotTo(BeNil())
		// After its return, the cluster removes the objects whose removal the hub has requested.
		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(cluster["cluster2"], guestbookOf(app.Name))).Should(BeNil())
	})

	It("after a mistake in the cluster's name waits for the cluster with the Application", func(ctx SpecContext) {
		app := standalone(ctx, "mistyped", "cluster2")
		expectAtRest(ctx, app.Name)
		Expect(f.Cluster("cluster2").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed()) })
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationCluster, "clusterr2"))
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "until then, cluster cluster2 keeps the Application")
		Expect(hub.Delete(ctx, app)).To(Succeed())
		expectCondition(ctx, app.Name, apis.ConditionDeletionWarning, "waiting for cluster cluster2 to remove")
		Expect(f.Cluster("cluster2").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster["cluster2"], named(app.Name))(ctx)).To(BeNil())
		Expect(read(cluster["cluster2"], guestbookOf(app.Name))(ctx)).To(BeNil())
	})
})

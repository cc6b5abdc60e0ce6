package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

var _ = Describe("An outage of a cluster that its Placement does not tolerate", Serial, Ordered, usesRights, func() {
	const on, set, app = "cluster2", "outage", "cluster2-outage"

	// removal is a limit for the removal of a workload by a returning cluster with delete-on-outage. Without the
	// annotation, Towline waits two minutes. Most of the time is the start of the agents.
	const removal = time.Minute

	BeforeAll(func(ctx SpecContext) {
		apply(ctx, fmt.Sprintf(intolerant, on, generatorConfig(), specOf("default", "guestbook", set)))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "placement", set, "--namespace", argocdNamespace, "--ignore-not-found")
			Expect(err).NotTo(HaveOccurred())
		})
		withoutApplicationSet(set, app)
		expectAtRest(ctx, app)
		deployment(ctx, on, set)
	})

	// lose stops the cluster's agents, and waits until the ApplicationSet has deleted the Application.
	lose := func(ctx context.Context) {
		GinkgoHelper()
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed()) })
		Eventually(ctx, read(hub, named(app))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
	}

	It("deletes no workload, also over restarts, and the recreated Application takes the workload over", func(ctx SpecContext) {
		before := expectHealthy(ctx, app)
		there, workload := read(cluster[on], named(app)), read(cluster[on], guestbookOf(set))
		ran, err := workload(ctx)
		Expect(err).NotTo(HaveOccurred())
		had, err := there(ctx)
		Expect(err).NotTo(HaveOccurred())

		began := time.Now()
		lose(ctx)
		AddReportEntry(fmt.Sprintf("deleted by its ApplicationSet %.1f s after the outage began", time.Since(began).Seconds()))
		expectCondition(ctx, app, apis.ConditionDeletionWarning, "waits: cluster "+on+" has not been available")
		show(ctx, "what the hub shows meanwhile", "get", "applications.argoproj.io", app, "-o",
			`jsonpath={range .status.conditions[*]}{.type}: {.message}{"\n"}{end}`)
		show(ctx, "its row of the report", "get", "multiclusterapplicationsetreport", set, "-o", "yaml")
		Expect(read(hub, workOf(before))(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		expectRuns(ctx, plugin, f.Hub.Kubeconfig(), []string{"why", "--namespace", argocdNamespace, app}, 3,
			And(ContainSubstring("has not been available"), ContainSubstring(apis.AnnotationDeleteOnOutage)))
		Expect(tow.Restart(ctx)).To(Succeed())

		began = time.Now()
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(hub, named(app))).Should(And(Not(BeNil()),
			HaveField("UID", Not(Equal(before.UID))), HaveField("DeletionTimestamp", BeNil())))
		AddReportEntry(fmt.Sprintf("made anew %.1f s after the cluster's agents started", time.Since(began).Seconds()))
		after := expectAtRest(ctx, app)
		Eventually(ctx, read(hub, workOf(before))).Should(BeNil())
		Expect(workload(ctx)).To(And(HaveField("UID", ran.UID), HaveField("Generation", ran.Generation)))
		now, err := there(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(now.UID).To(Equal(had.UID))
		Expect(now.Annotations).To(HaveKeyWithValue(apis.AnnotationWork, workOf(after).Name))
		Expect(now.OwnerReferences).To(HaveLen(1))
		expectNoCondition(ctx, app, apis.ConditionDeletionWarning)
	}, NodeTimeout(2*soon))

	It("deletes the workload on request", func(ctx SpecContext) {
		before, err := read(cluster[on], guestbookOf(set))(ctx)
		Expect(err).NotTo(HaveOccurred())
		old, err := read(hub, named(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		lose(ctx)
		expectCondition(ctx, app, apis.ConditionDeletionWarning, "waits: ")
		patchHub(ctx, app, annotationPatch(apis.AnnotationDeleteOnOutage, "true"))
		Eventually(ctx, read(hub, workOf(old))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		began := time.Now()
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		Eventually(ctx, read(cluster[on], guestbookOf(set))).WithTimeout(removal).Should(Or(BeNil(), HaveField("UID", Not(Equal(before.UID)))))
		AddReportEntry(fmt.Sprintf("removed by the cluster %.1f s after the cluster's agents started", time.Since(began).Seconds()))
		Eventually(ctx, read(hub, named(app))).Should(And(Not(BeNil()), WithTransform(uidOf, Not(Equal(old.UID)))))
		expectHealthy(ctx, app)
		Expect(deployment(ctx, on, set).UID).NotTo(Equal(before.UID))
	}, NodeTimeout(2*soon))
})

func uidOf(app *argocd.Application) types.UID { return metav1.Object(app).GetUID() }

// intolerant is an ApplicationSet that follows a Placement of a single cluster. The Placement drops the cluster when
// the cluster is unavailable.
const intolerant = `
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: outage, namespace: argocd}
spec:
  clusterSets: [global]
  predicates:
  - requiredClusterSelector:
      labelSelector: {matchLabels: {name: %s}}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: outage, namespace: argocd}
spec:
  generators:
  - clusterDecisionResource:
      configMapRef: %s
      labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: outage}}
      requeueAfterSeconds: 3
  template:
    metadata:
      name: '{{name}}-outage'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations:
        apps.open-cluster-management.io/ocm-managed-cluster: '{{name}}'
        argocd.argoproj.io/skip-reconcile: "true"
    spec: %s
`

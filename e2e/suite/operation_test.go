package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// hanging is a Service that never becomes healthy, because no cluster of the fleet has load balancers. Argo CD waits
// for the Service before the next wave.
const hanging = `apiVersion: v1
kind: Service
metadata:
  name: never
  annotations: {argocd.argoproj.io/sync-wave: "-1"}
spec:
  type: LoadBalancer
  ports: [{port: 80}]
`

// phaseOn returns the phase of the last operation and its start time, on a cluster or on the hub.
func phaseOn(ctx context.Context, c client.Client, name string) string {
	GinkgoHelper()
	app := whole(ctx, c, name)
	phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
	started, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "startedAt")
	return strings.TrimSpace(phase + " " + started)
}

// hangs returns an Application with an endless sync on its cluster.
func hangs(ctx context.Context, name, on string, edits ...func(*fixture.ApplicationBuilder)) *argocd.Application {
	GinkgoHelper()
	Expect(f.Git.Create(ctx, name, testdataFS("configmap.yaml"))).To(Succeed())
	_, err := f.Git.Commit(ctx, name, map[string]string{"service.yaml": hanging}, "Hang")
	Expect(err).NotTo(HaveOccurred())
	own := strings.ReplaceAll(manual(".", name), f.Git.URL("apps"), f.Git.URL(name))
	app := standalone(ctx, name, on, append(edits, func(b *fixture.ApplicationBuilder) { b.Spec(own) })...)
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
	patchHub(ctx, name, `{"operation":{"sync":{"syncOptions":["CreateNamespace=true"]},"initiatedBy":{"username":"tester"}}}`)
	Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, hub, name) }).Should(HavePrefix("Running"))
	return app
}

// terminating is the patch by which argocd-server stops an operation: in the status.
const terminating = `{"status":{"operationState":{"phase":"Terminating"}}}`

var _ = Describe("An operation that does not end", inEtcd, func() {
	It("holds up no change, is not repeated after changes, and can be terminated on the hub", func(ctx SpecContext) {
		app := hangs(ctx, "hanging", "cluster1")
		running := phaseOn(ctx, cluster["cluster1"], app.Name)
		Eventually(ctx, read(hub, app)).Should(HaveField("Operation", BeNil()))

		// Changes on the hub arrive meanwhile, and the operation goes on unchanged.
		for _, note := range []string{"one", "two"} {
			patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"annotations":{"note":%q}},"spec":{"revisionHistoryLimit":%d}}`, note, len(note)))
			Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(HaveField("Annotations", HaveKeyWithValue("note", note)))
			Expect(phaseOn(ctx, cluster["cluster1"], app.Name)).To(Equal(running))
			there := whole(ctx, cluster["cluster1"], app.Name)
			Expect(there.Object).To(HaveKey("operation"), "the operation was cancelled")
		}
		// A second request waits until the first operation has ended.
		patchHub(ctx, app.Name, `{"operation":{"sync":{"dryRun":true},"initiatedBy":{"username":"second"}}}`)

		patchHub(ctx, app.Name, terminating)
		Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, cluster["cluster1"], app.Name) }).
			Should(And(Not(HavePrefix("Running")), Not(HavePrefix("Terminating")), Not(Equal(running))))
		// The second operation then runs.
		Eventually(ctx, read(hub, app)).Should(And(
			HaveField("Operation", BeNil()),
			HaveField("Status.OperationState", HaveField("Operation.InitiatedBy", HaveField("Username", "second")))))
		Eventually(ctx, read(hub, workOf(app))).Should(And(
			HaveField("Annotations", Not(HaveKey(apis.AnnotationRequestSent))),
			HaveField("Spec.Workload.Manifests", HaveExactElements(HaveField("Raw", ContainSubstring(`"spec"`))))))
	})

	It("holds up the removal from its cluster, and can be terminated during the removal", func(ctx SpecContext) {
		gone := hangs(ctx, "hanging-deleted", "cluster1")
		moved := hangs(ctx, "hanging-moved", "cluster1", func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
		})
		old := workOf(moved)
		Expect(hub.Delete(ctx, gone)).To(Succeed())
		patchHub(ctx, moved.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`, apis.AnnotationCluster))
		expectCondition(ctx, gone.Name, apis.ConditionDeletionWarning, "an operation runs on cluster cluster1")
		expectCondition(ctx, moved.Name, apis.ConditionMoveWarning, "an operation runs on cluster cluster1")
		Consistently(ctx, func(g Gomega, ctx context.Context) {
			for _, w := range []*workv1.ManifestWork{workOf(gone), old} {
				g.Expect(read(hub, w)(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
			}
		}).WithTimeout(2 * time.Second).Should(Succeed())
		message, err := conditionMessage(ctx, gone.Name, apis.ConditionDeletionWarning)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("DeletionWarning", message)

		patchHub(ctx, gone.Name, terminating)
		patchHub(ctx, moved.Name, terminating)
		Eventually(ctx, read(hub, gone)).Should(BeNil())
		Expect(read(cluster["cluster1"], named(gone.Name))(ctx)).To(BeNil())
		Eventually(ctx, read(cluster["cluster2"], named(moved.Name))).ShouldNot(BeNil())
		Expect(read(cluster["cluster1"], named(moved.Name))(ctx)).To(BeNil())
		expectNoCondition(ctx, moved.Name, apis.ConditionMoveWarning)
	})
})

var _ = Describe("An operation that is on its way to a cluster that is away", inEtcd, func() {
	const on = "cluster1"
	// underWay returns an Application whose work carries an operation that no agent has seen. An operation is for a
	// specific version of the cluster's Application. The agent reports the version while a refresh is unanswered by the
	// cluster's Argo CD.
	underWay := func(ctx context.Context, name string) *argocd.Application {
		GinkgoHelper()
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectHealthy(ctx, name)
		Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, hub, name) }).Should(HavePrefix("Succeeded"))
		stop(ctx, on, "argocd-application-controller")
		patchHub(ctx, name, annotationPatch(apis.AnnotationRefresh, "normal"))
		Eventually(ctx, read(hub, workOf(app))).Should(WithTransform(func(w *workv1.ManifestWork) string {
			seen := feedback.Parse(&w.Status, work.Identifier(app))
			return fmt.Sprint(work.Outcome(w), " ", seen.Version, " ", seen.RefreshRequest)
		}, MatchRegexp(`^True \d+ \S+`)))
		stop(ctx, on, "agent")
		patchHub(ctx, name, `{"operation":{"sync":{},"initiatedBy":{"username":"tester"}}}`)
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Annotations", HaveKeyWithValue(apis.AnnotationRequestSent, HavePrefix("sent "))))
		return app
	}

	It("is removed from the hub with its work, and is not in the next work", func(ctx SpecContext) {
		app := underWay(ctx, "released-with-operation")
		before, sent := phaseOn(ctx, cluster[on], app.Name), workOf(app)
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, "true"))
		Eventually(ctx, read(hub, app)).Should(HaveField("Operation", BeNil()))
		Eventually(ctx, eventNote(app, apis.ReasonOperationWithdrawn)).Should(ContainSubstring("was sent to cluster " + on))
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		Expect(f.Cluster(on).StartProcess(ctx, "argocd-application-controller")).To(Succeed())
		Eventually(ctx, read(hub, sent)).Should(BeNil())
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, "false"))
		expectAtRest(ctx, app.Name)
		Consistently(ctx, func(ctx context.Context) string { return phaseOn(ctx, cluster[on], app.Name) }).
			WithTimeout(3 * time.Second).Should(Equal(before))
	})

	It("does not keep a recreated Application from its cluster", func(ctx SpecContext) {
		app := underWay(ctx, "made-again-with-operation")
		before, sent := deployment(ctx, on, app.Name), workOf(app)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, sent)).Should(HaveField("Annotations", Not(HaveKey(apis.AnnotationRequestSent))))
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		Expect(f.Cluster(on).StartProcess(ctx, "argocd-application-controller")).To(Succeed())
		Eventually(ctx, read(hub, sent)).Should(BeNil())
		there := whole(ctx, cluster[on], app.Name)
		AddReportEntry(fmt.Sprintf("left there, with the managers %s", managers(there)))

		again := standalone(ctx, app.Name, on, func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		expectHealthy(ctx, again.Name)
		Eventually(ctx, read(hub, workOf(again))).Should(WithTransform(work.Outcome, BeEquivalentTo("True")))
		expectNoCondition(ctx, again.Name, apis.ConditionPropagationError)
		Expect(deployment(ctx, on, app.Name).UID).To(Equal(before.UID))
	})
})

// stop stops a process of a cluster. A clean-up starts the process at the end of the spec, unless the spec has started
// the process before.
func stop(ctx context.Context, on, process string) {
	GinkgoHelper()
	Expect(f.Cluster(on).StopProcess(ctx, process)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(f.Cluster(on).StartProcess(ctx, process)).To(Succeed())
	})
}

// managers returns the names of an object's field managers.
func managers(obj client.Object) string {
	var names []string
	for _, m := range obj.GetManagedFields() {
		names = append(names, m.Manager)
	}
	return strings.Join(names, ", ")
}

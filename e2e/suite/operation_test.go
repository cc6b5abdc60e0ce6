package suite

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// hanging is a hook that Argo CD waits for, and that no cluster of the fleet ever runs: it has no controller for Jobs.
const hanging = `apiVersion: batch/v1
kind: Job
metadata:
  name: never
  annotations: {argocd.argoproj.io/hook: PreSync}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: never, image: never}]
`

// phaseOn is the phase of the last operation, and when it began, on a cluster or the hub.
func phaseOn(ctx context.Context, c client.Client, name string) string {
	GinkgoHelper()
	app := whole(ctx, c, name)
	phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
	started, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "startedAt")
	return strings.TrimSpace(phase + " " + started)
}

var _ = Describe("An operation that does not end", func() {
	It("holds nothing else up, is not begun again by changes, and can be terminated on the hub", func(ctx SpecContext) {
		const repo = "hanging"
		Expect(f.Git.Create(ctx, repo, testdataFS("configmap.yaml"))).To(Succeed())
		_, err := f.Git.Commit(ctx, repo, map[string]string{"job.yaml": hanging}, "Hang")
		Expect(err).NotTo(HaveOccurred())
		own := strings.ReplaceAll(manual(".", "hanging"), f.Git.URL("apps"), f.Git.URL(repo))
		app := standalone(ctx, "hanging", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(own) })
		Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))

		patchHub(ctx, app.Name, `{"operation":{"sync":{"syncOptions":["CreateNamespace=true"]},"initiatedBy":{"username":"tester"}}}`)
		Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, hub, app.Name) }).Should(HavePrefix("Running"))
		running := phaseOn(ctx, cluster["cluster1"], app.Name)
		Eventually(ctx, read(hub, app)).Should(HaveField("Operation", BeNil()))

		// What changes on the hub meanwhile arrives, and the operation goes on as it was.
		for _, note := range []string{"one", "two"} {
			patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"annotations":{"note":%q}},"spec":{"revisionHistoryLimit":%d}}`, note, len(note)))
			Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(HaveField("Annotations", HaveKeyWithValue("note", note)))
			Expect(phaseOn(ctx, cluster["cluster1"], app.Name)).To(Equal(running))
			there := whole(ctx, cluster["cluster1"], app.Name)
			Expect(there.Object).To(HaveKey("operation"), "the operation was cancelled")
		}
		// A second request waits for its turn.
		patchHub(ctx, app.Name, `{"operation":{"sync":{"dryRun":true},"initiatedBy":{"username":"second"}}}`)

		// Terminated as argocd-server does it: in the status.
		patchHub(ctx, app.Name, `{"status":{"operationState":{"phase":"Terminating"}}}`)
		Eventually(ctx, func(ctx context.Context) string { return phaseOn(ctx, cluster["cluster1"], app.Name) }).
			Should(And(Not(HavePrefix("Running")), Not(HavePrefix("Terminating")), Not(Equal(running))))
		// and the second has its turn.
		Eventually(ctx, read(hub, app)).Should(And(
			HaveField("Operation", BeNil()),
			HaveField("Status.OperationState", HaveField("Operation.InitiatedBy", HaveField("Username", "second")))))
		Eventually(ctx, read(hub, workOf(app))).Should(And(
			HaveField("Annotations", Not(HaveKey(apis.AnnotationRequestSent))),
			HaveField("Spec.Workload.Manifests", HaveExactElements(HaveField("Raw", ContainSubstring(`"spec"`))))))
	})
})

package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// quiet is the time in which no component may write. It is longer than all polling intervals, also longer than the
// interval of Argo CD's comparisons on the busy cluster.
const quiet = time.Minute

var _ = Describe("An Application that has been synced, refreshed and operated on", func() {
	It("is not written on the hub any more, although the cluster still compares", long, func(ctx SpecContext) {
		const name = "quiet"
		app := standalone(ctx, name, busyCluster)
		there := func(ctx context.Context) (*argocd.Application, error) {
			return read(cluster[busyCluster], named(name))(ctx)
		}
		expectHealthy(ctx, name)
		patchHub(ctx, name, `{"operation":{"sync":{},"initiatedBy":{"username":"tester"}}}`)
		Eventually(ctx, read(hub, app)).Should(And(
			HaveField("Operation", BeNil()), HaveField("Status.OperationState.Operation.InitiatedBy", HaveField("Username", "tester"))))
		By("showing the comparison after the sync, for which the hub waits")
		Eventually(ctx, read(hub, app)).Should(Satisfy(func(a *argocd.Application) bool {
			return a.Status.OperationState.FinishedAt != "" && a.Status.ReconciledAt >= a.Status.OperationState.FinishedAt
		}))
		patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"hard"}}}`, apis.AnnotationRefresh))
		Eventually(ctx, read(hub, app)).Should(HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))))
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Annotations",
			Not(Or(HaveKey(apis.AnnotationRequestSent), HaveKey(apis.AnnotationRefreshSent)))))
		Eventually(ctx, there).Should(HaveField("Annotations", Not(HaveKey(apis.AnnotationRefreshRequest))))

		versions := func(ctx context.Context) ([]string, error) {
			here, err := read(hub, app)(ctx)
			if err != nil {
				return nil, err
			}
			w, err := read(hub, workOf(app))(ctx)
			return []string{"hub " + here.ResourceVersion, "work " + w.ResourceVersion}, err
		}
		expectAtRest(ctx, name)
		settled := expectSettled(ctx, versions)
		before, err := there(ctx)
		Expect(err).NotTo(HaveOccurred())
		Consistently(ctx, versions).WithTimeout(quiet).WithPolling(time.Second).Should(Equal(settled))
		after, err := there(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Status.ReconciledAt).NotTo(Equal(before.Status.ReconciledAt), "the cluster has not compared meanwhile")
		AddReportEntry(fmt.Sprintf("for %s: %s; compared at %s, before at %s", quiet, settled, after.Status.ReconciledAt, before.Status.ReconciledAt))

		By("showing a comparison on request")
		patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"normal"}}}`, apis.AnnotationRefresh))
		Eventually(ctx, read(hub, app)).Should(And(HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))),
			Satisfy(func(a *argocd.Application) bool { return a.Status.ReconciledAt >= after.Status.ReconciledAt })))
	})
})

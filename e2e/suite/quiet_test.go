package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/pkg/apis"
)

// quiet is how long nothing is to be written: longer than everything that polls, but Argo CD's own comparison, every
// three minutes.
const quiet = time.Minute

var _ = Describe("An Application that has been synced, refreshed and operated on", func() {
	It("is written no more by anyone, on the hub and on the cluster", func(ctx SpecContext) {
		const name, on = "quiet", "cluster1"
		app := standalone(ctx, name, on)
		before := expectHealthy(ctx, name).Status.ReconciledAt
		patchHub(ctx, name, `{"operation":{"sync":{},"initiatedBy":{"username":"tester"}}}`)
		Eventually(ctx, read(hub, app)).Should(And(
			HaveField("Operation", BeNil()), HaveField("Status.OperationState.Operation.InitiatedBy", HaveField("Username", "tester"))))
		patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"hard"}}}`, apis.AnnotationRefresh))
		Eventually(ctx, read(hub, app)).Should(And(
			HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))), HaveField("Status.ReconciledAt", Not(Equal(before)))))
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Annotations",
			Not(Or(HaveKey(apis.AnnotationRequestSent), HaveKey(apis.AnnotationRefreshSent)))))

		versions := func(ctx context.Context) (string, error) {
			here, err := read(hub, app)(ctx)
			if err != nil {
				return "", err
			}
			w, err := read(hub, workOf(app))(ctx)
			if err != nil {
				return "", err
			}
			there, err := read(cluster[on], named(name))(ctx)
			return fmt.Sprintf("hub %s, work %s, cluster %s", here.ResourceVersion, w.ResourceVersion, there.ResourceVersion), err
		}
		// What is on its way arrives first: the same three for a few seconds.
		var settled string
		Eventually(ctx, func(ctx context.Context) (bool, error) {
			last := settled
			var err error
			settled, err = versions(ctx)
			return last == settled, err
		}).WithPolling(3 * time.Second).Should(BeTrue())
		Consistently(ctx, versions).WithTimeout(quiet).WithPolling(time.Second).Should(Equal(settled))
		AddReportEntry(fmt.Sprintf("for %s: %s", quiet, settled))
	})
})

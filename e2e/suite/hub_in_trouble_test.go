package suite

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// noSeats has the API server answer 429 whenever Towline makes a work in a cluster's namespace.
const noSeats = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: no-seats}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: no-seats}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: no-seats}
  rules:
  - subjects: [{kind: ServiceAccount, serviceAccount: {namespace: %s, name: %s}}]
    resourceRules:
    - {verbs: [create], apiGroups: [work.open-cluster-management.io], resources: [manifestworks], namespaces: [%s]}
`

var _ = Describe("A hub that has too much to do", func() {
	It("says on the Application that it takes no work, is asked less and less often, and gets the work when it has time", long, func(ctx SpecContext) {
		const on = "cluster1"
		apply(ctx, fmt.Sprintf(noSeats, towline.Namespace, towline.ServiceAccount, on))
		free := func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "flowschema/no-seats", "prioritylevelconfiguration/no-seats", "--ignore-not-found")
			Expect(err).NotTo(HaveOccurred())
		}
		DeferCleanup(free)
		began := time.Now()
		app := standalone(ctx, "hub-without-time", on)
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "too many requests")
		AddReportEntry(fmt.Sprintf("told after %.1f s", time.Since(began).Seconds()))
		Expect(read(hub, workOf(app))(ctx)).To(BeNil())
		beside := standalone(ctx, "hub-with-time", "cluster2")
		expectHealthy(ctx, beside.Name)

		free(ctx)
		freed := time.Now()
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		AddReportEntry(fmt.Sprintf("Healthy %.1f s after the hub had time again", time.Since(freed).Seconds()))
	})
})

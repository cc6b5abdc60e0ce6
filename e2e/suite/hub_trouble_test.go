package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// calm is the allowed number of Towline's requests in a second while the hub is in trouble. Most requests are renewals
// of the Lease.
const calm = 20

var _ = Describe("A hub in trouble", Serial, long, func() {
	It("whose etcd is full gets few requests, and delivers again without help after space is free", func(ctx SpecContext) {
		app := standalone(ctx, "no-room", "cluster1")
		expectAtRest(ctx, app.Name)
		start := stopWorkingWithHub(ctx)
		DeferCleanup(outOfSpace, "DEACTIVATE")
		outOfSpace(ctx, "ACTIVATE")
		refused := hub.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "no-room"}})
		Expect(refused).To(MatchError(ContainSubstring("database space exceeded")))
		began := time.Now()
		leaders := leading()
		restarted := make(chan error, len(leaders))
		for _, leader := range leaders {
			Eventually(ctx, leader.Exited()).Should(BeClosed(), "it leads, and cannot renew its Lease")
			AddReportEntry(fmt.Sprintf("the leader ended after %.1f s", time.Since(began).Seconds()))
			go func() { restarted <- leader.Restart(ctx) }() // the kubelet restarts it
		}
		expectRestarted := func() {
			GinkgoHelper()
			for range leaders {
				Eventually(ctx, restarted).Should(Receive(BeNil()))
			}
		}
		if maestro == nil { // with a full etcd, Towline is ready unless another leader serves the works
			expectRestarted()
		}
		expectCalm(ctx, 20*time.Second)
		outOfSpace(ctx, "DEACTIVATE")
		start(ctx)
		if maestro != nil {
			expectRestarted()
		}
		began = time.Now()
		patchHub(ctx, app.Name, annotationPatch("note", "room"))
		Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "room")))
		AddReportEntry(fmt.Sprintf("a change arrived %.1f s after there was room", time.Since(began).Seconds()))
	}, NodeTimeout(3*soon))

	It("that gives Towline three seats and no queue delivers every Application, and keeps the leader", func(ctx SpecContext) {
		apply(ctx, narrow)
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "flowschema,prioritylevelconfiguration", "towline-narrow")
			Expect(err).NotTo(HaveOccurred())
		})
		began := time.Now()
		var names []string
		for i := range 24 {
			names = append(names, fmt.Sprintf("narrow-%d", i))
			standalone(ctx, names[i], fmt.Sprintf("cluster%d", 1+i%2))
		}
		for _, name := range names {
			expectHealthy(ctx, name)
		}
		took := time.Since(began)
		all, rejected := requestsSince(began)
		AddReportEntry(fmt.Sprintf("%d Applications healthy after %.1f s; %d requests, %d answered with 429", len(names), took.Seconds(), all, rejected))
		Expect(rejected).To(BeNumerically(">", 0), "it has not been narrow")
		Expect(tow.Exited()).NotTo(BeClosed())
	}, NodeTimeout(3*soon))

	It("that loses the CRD of reports goes on delivering, and has all reports again once the CRD is back", func(ctx SpecContext) {
		const crd = "multiclusterapplicationsetreports." + apis.Group
		const set = "guestbook-app-set"
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-app-set.yaml")).To(Succeed())
		DeferCleanup(withoutGuestbook)
		report, healthy := reportOf(set), HaveField("Statuses.Summary.Healthy", "3")
		Eventually(ctx, read(hub, report)).Should(And(Not(BeNil()), healthy))
		kept := raw("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", crd)
		kept, err := read(hub, kept)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Delete(ctx, kept.DeepCopy())).To(Succeed())
		Eventually(ctx, read(hub, kept)).Should(BeNil())

		app := standalone(ctx, "no-crd", "cluster1")
		expectHealthy(ctx, app.Name)
		expectCalm(ctx, 20*time.Second)

		began := time.Now()
		kept.SetResourceVersion("")
		kept.SetUID("")
		unstructured.RemoveNestedField(kept.Object, "status")
		Expect(hub.Create(ctx, kept)).To(Succeed())
		Eventually(ctx, read(hub, report)).WithTimeout(2 * soon).Should(And(Not(BeNil()), healthy))
		AddReportEntry(fmt.Sprintf("the report is back %.1f s after its CRD", time.Since(began).Seconds()))
		Expect(tow.Exited()).NotTo(BeClosed())
	}, NodeTimeout(3*soon))
})

// narrow gives all of Towline's requests three of the API server's 600 seats, and no queue.
const narrow = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: towline-narrow}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 1, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: towline-narrow}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: towline-narrow}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: ServiceAccount, serviceAccount: {namespace: ` + towline.Namespace + `, name: ` + towline.ServiceAccount + `}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
`

// outOfSpace raises or clears the alarm NOSPACE in the hub's etcd. etcd raises the alarm when its file has reached its
// limit, and then refuses writes.
func outOfSpace(ctx context.Context, action string) {
	GinkgoHelper()
	ask := fmt.Sprintf(`{"action":%q,"memberID":0,"alarm":"NOSPACE"}`, action)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+f.Hub.EtcdAddress()+"/v3/maintenance/alarm", bytes.NewBufferString(ask))
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(r)
	Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	Expect(answer).To(HaveHTTPStatus(http.StatusOK))
}

// leading returns the processes with a Lease: Towline, and with works in Maestro also the server of the works.
func leading() []*fleet.Process {
	if maestro == nil {
		return []*fleet.Process{tow.Process}
	}
	return []*fleet.Process{tow.Process, maestro.Process}
}

// expectCalm expects fewer than calm requests of Towline in a second during a period.
func expectCalm(ctx context.Context, period time.Duration) {
	GinkgoHelper()
	began := time.Now()
	var all int
	Consistently(ctx, func() float64 {
		all, _ = requestsSince(began)
		return float64(all) / (time.Since(began) + 5*time.Second).Seconds()
	}).WithTimeout(period).WithPolling(period / 4).Should(BeNumerically("<", calm))
	AddReportEntry(fmt.Sprintf("%d requests in %s", all, period))
}

// requestsSince counts Towline's requests in the hub's audit log since a time, and how many of them were rejected with
// 429.
func requestsSince(began time.Time) (all, rejected int) {
	GinkgoHelper()
	user := fmt.Sprintf("system:serviceaccount:%s:%s", towline.Namespace, towline.ServiceAccount)
	for line := range audited() {
		var e struct {
			User                     struct{ Username string }
			RequestReceivedTimestamp metav1.MicroTime
			ResponseStatus           *struct{ Code int }
		}
		Expect(json.Unmarshal(line, &e)).To(Succeed())
		if e.User.Username != user || e.RequestReceivedTimestamp.Time.Before(began) {
			continue
		}
		all++
		if e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusTooManyRequests {
			rejected++
		}
	}
	return all, rejected
}

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/scrape"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// floodLabel is on all objects of the floods, to find and remove them.
const floodLabel = "flood"

// flooding has the attackers, the flooded Applications, and the bystander of the floods.
type flooding struct {
	tenant, agent, addon *client.Client

	// bystander is an Application of another user on another cluster. reader may read Towline's metrics.
	bystander *argocd.Application
	reader    *http.Client

	// flooded are the tenant's Applications on the cluster of the agent and the add-on.
	flooded []*argocd.Application
}

// floods are attacks with thousands of permitted requests.
func floods(tenant, agent, addon *client.Client) {
	x := &flooding{tenant: tenant, agent: agent, addon: addon}
	BeforeAll(x.begin)
	AfterAll(x.end)
	It("of statuses of works holds up no other cluster, and the last status is shown", inEtcd, nightly, x.statuses)
	It("of reports, with large reports, holds up no other cluster, and the last report is shown", nightly, x.reports)
	It("of Applications, changes, refreshes and events of a tenant holds up no other tenant, and is handled completely", x.applications)
	It("of random tokens holds up no other user, and costs the API server a few requests", x.tokens)
}

func (x *flooding) begin(ctx SpecContext) {
	x.reader = metricsReader(ctx, "flood-reader")
	x.bystander = standalone(ctx, "bystander", "cluster2")
	expectAtRest(ctx, x.bystander.Name)
	// The real agent of the cluster would correct false statuses at once.
	Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
	for i := range 4 {
		app := tenantApp(fmt.Sprintf("flooded-%d", i))
		submit(ctx, *x.tenant, app)
		Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
		x.flooded = append(x.flooded, app)
	}
}

// end starts the agent before the clean-up of the flooded objects, because the clean-up needs the agent's answers.
func (x *flooding) end(ctx SpecContext) {
	Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
	if x.bystander == nil {
		return
	}
	now, err := read(hub, x.bystander)(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Marshal(now)).NotTo(ContainSubstring("flood"), "somebody else's Application shows it")
}

// of returns the Application that the i-th request floods.
func (x *flooding) of(i int64) *argocd.Application { return x.flooded[i%int64(len(x.flooded))] }

// statuses floods the hub with statuses from a cluster's agent. Each status differs from all others.
func (x *flooding) statuses(ctx SpecContext) {
	says := func(ctx context.Context, app *argocd.Application, i int64, message string) error {
		b := fixture.Feedback(work.Identifier(app)).Healthy(fmt.Sprintf("%040x", i)).String("resourceVersion", fmt.Sprint(i)).
			String("healthStatus", healths[i%3]).String("healthMessage", message)
		data, err := json.Marshal(map[string]any{"status": b.Obj()})
		if err != nil {
			return err
		}
		return (*x.agent).Status().Patch(ctx, workOf(app), merge(string(data)))
	}
	harmless(ctx, func() {
		x.withstand(ctx, bounds{atLeast: 1500, perRequest: 1.5}, func(ctx context.Context, i int64) error {
			return says(ctx, x.of(i), i, fmt.Sprintf("flood %d", i))
		})
		for i, app := range x.flooded {
			Expect(says(ctx, app, 1<<40+int64(i), "the last word")).To(Succeed())
			Eventually(ctx, read(hub, app)).Should(HaveField("Status.Health.Message", "the last word"))
		}
	})
}

var healths = []string{"Degraded", "Progressing", "Healthy"}

// reports floods the hub with reports from a cluster's add-on: on the add-on's own Applications, on unknown
// Applications, and with more data than any agent sends.
func (x *flooding) reports(ctx SpecContext) {
	// The tree is as large as the schema allows, and larger than an agent's tree.
	tree := make([]v1alpha1.TreeNode, 500)
	for i := range tree {
		tree[i] = v1alpha1.TreeNode{Version: "v1", Kind: "Pod", Name: fmt.Sprint("flood-", i), UID: fmt.Sprint(i),
			Health: &argocd.Health{Status: "Degraded", Message: strings.Repeat("A", 1600)}}
	}
	report := func(i int64) *v1alpha1.ApplicationReport {
		r := x.report(x.of(i), 1<<41+i, healths[i%3], fmt.Sprintf("flood %d", i))
		switch {
		case i%30 == 1:
			r.Name, r.Tree = fmt.Sprintf("large-%d", i/30%10), tree
		case i%3 == 0:
			r.Name = fmt.Sprintf("nobody-%d", i/3%300)
		}
		return r
	}
	DeferCleanup(func(ctx SpecContext) {
		Expect(hub.DeleteAllOf(ctx, &v1alpha1.ApplicationReport{}, client.InNamespace("cluster1"), client.MatchingLabels{floodLabel: "true"})).To(Succeed())
	})
	larger := report(2)
	larger.Status.Health.Message = strings.Repeat("A", 900_000)
	denied(x.send(ctx, larger), "Too long")
	harmless(ctx, func() {
		x.withstand(ctx, bounds{atLeast: 900, perRequest: 1.5}, func(ctx context.Context, i int64) error { return x.send(ctx, report(i)) })
		for i, app := range x.flooded {
			Expect(x.send(ctx, x.report(app, 1<<42+int64(i), "Healthy", "the last report"))).To(Succeed())
			Eventually(ctx, read(hub, app)).Should(HaveField("Status.Health.Message", "the last report"))
		}
	})
}

// report returns a report on an Application, for a given resource version of the Application.
func (x *flooding) report(app *argocd.Application, version int64, health, message string) *v1alpha1.ApplicationReport {
	r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: workOf(app).Name, Labels: map[string]string{floodLabel: "true"},
	}}
	r.Application.Namespace, r.Application.Name = app.ClusterNamespace(), app.Name
	r.Application.UID, r.Application.ResourceVersion = "there", fmt.Sprint(version)
	r.ObservedAt = time.Now().UTC().Format(time.RFC3339)
	r.Status.Health = argocd.Health{Status: health, Message: message}
	return r
}

func (x *flooding) send(ctx context.Context, r *v1alpha1.ApplicationReport) error {
	says := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ApplicationReport",
		"metadata":    map[string]any{"name": r.Name, "namespace": r.Namespace, "labels": r.Labels},
		"application": r.Application, "observedAt": r.ObservedAt, "status": r.Status,
	}
	if r.Tree != nil {
		says["tree"] = r.Tree
	}
	data, err := json.Marshal(says)
	if err != nil {
		return err
	}
	return (*x.addon).Patch(ctx, r, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("flood"), client.ForceOwnership)
}

// applications floods the hub with a tenant's Applications, and with changes, refreshes and events. Half of the
// Applications are for a forbidden cluster.
func (x *flooding) applications(ctx SpecContext) {
	const all, last = 100, "the last change"
	DeferCleanup(x.removeApplications)
	harmless(ctx, func() {
		// A new Application needs more requests than a change: Towline writes its work, its conditions and events.
		x.withstand(ctx, bounds{atLeast: 6 * all, perRequest: 2}, func(ctx context.Context, i int64) error {
			app := x.of(i).DeepCopy()
			switch {
			case i%6 == 0 && i <= 6*all:
				return (*x.tenant).Create(ctx, oneOfMany(i/6))
			case i%6 == 1:
				return (*x.tenant).Create(ctx, floodEvent(i))
			case i%6 == 2:
				return (*x.tenant).Patch(ctx, app, merge(annotationPatch(apis.AnnotationRefresh, "hard")))
			}
			return (*x.tenant).Patch(ctx, app, merge(annotationPatch("note", fmt.Sprintf("flood %d", i))))
		})
		for _, app := range x.flooded {
			Expect((*x.tenant).Patch(ctx, app.DeepCopy(), merge(annotationPatch("note", last)))).To(Succeed())
			Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Spec.Workload.Manifests",
				ContainElement(HaveField("Raw", WithTransform(func(raw []byte) string { return string(raw) }, ContainSubstring(last))))))
		}
		apps := x.many(ctx)
		Expect(apps).To(HaveLen(all))
		for i := range apps {
			if apps[i].Cluster() == "cluster1" {
				Eventually(ctx, read(hub, workOf(&apps[i]))).ShouldNot(BeNil())
				continue
			}
			Eventually(ctx, read(hub, &apps[i])).Should(HaveField("Status.Conditions",
				ContainElement(HaveField("Type", apis.ConditionPropagationForbiddenError))))
		}
	})
}

// oneOfMany returns one of the tenant's hundred Applications.
func oneOfMany(i int64) *argocd.Application {
	return tenantApp(fmt.Sprintf("many-%d", i), func(b *fixture.ApplicationBuilder) {
		b.Label(floodLabel, "true")
		if i%2 == 0 {
			b.Cluster("cluster2") // the tenant may not use cluster2
		}
	})
}

func floodEvent(i int64) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: tenantNamespace, GenerateName: "flood-", Labels: map[string]string{floodLabel: "true"}},
		InvolvedObject: corev1.ObjectReference{APIVersion: argocd.GroupVersion.String(), Kind: argocd.Kind, Namespace: tenantNamespace, Name: "flooded-0"},
		Reason:         "Flood", Message: fmt.Sprintf("flood %d", i), Type: corev1.EventTypeWarning, EventTime: metav1.NowMicro(),
		ReportingController: "towline", ReportingInstance: "towline", Action: "Flood",
	}
}

// many lists the tenant's hundred Applications.
func (x *flooding) many(ctx context.Context) []argocd.Application {
	GinkgoHelper()
	all := &argocd.ApplicationList{}
	Expect(hub.List(ctx, all, client.InNamespace(tenantNamespace), client.MatchingLabels{floodLabel: "true"})).To(Succeed())
	return all.Items
}

func (x *flooding) removeApplications(ctx SpecContext) {
	apps := x.many(ctx)
	in := []client.DeleteAllOfOption{client.InNamespace(tenantNamespace), client.MatchingLabels{floodLabel: "true"}}
	Expect(hub.DeleteAllOf(ctx, &argocd.Application{}, in...)).To(Succeed())
	Expect(hub.DeleteAllOf(ctx, &corev1.Event{}, in...)).To(Succeed())
	for i := range apps {
		Eventually(ctx, read(hub, &apps[i])).Should(BeNil())
		Expect(client.IgnoreNotFound(hub.Delete(ctx, workOf(&apps[i])))).To(Succeed())
	}
}

// tokens floods Towline's metrics endpoint with requests that have random tokens.
func (x *flooding) tokens(ctx SpecContext) {
	// Towline limits each client address separately. The attacker's address differs from the address of all other
	// clients.
	elsewhere := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}}
	attacker := insecure(&http.Transport{DialContext: elsewhere.DialContext, MaxIdleConnsPerHost: floodWorkers})
	before, began := tokenReviews(ctx), time.Now()
	othersRead := func() {
		for range 10 {
			_, err := pressureOn(ctx, x.reader)
			Expect(err).NotTo(HaveOccurred())
		}
		code, _ := fetch(ctx, tow.Metrics+"/metrics", tokenOf(ctx, "flood-stranger"))
		Expect(code).To(Equal(http.StatusForbidden), "somebody new is asked about")
	}
	harmless(ctx, func() {
		x.withstand(ctx, bounds{atLeast: 2000, meanwhile: othersRead}, func(ctx context.Context, i int64) error {
			code, err := get(ctx, attacker, tow.Metrics+"/metrics", fmt.Sprintf("random-%d-%d", began.UnixNano(), i))
			if err == nil && code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
				err = fmt.Errorf("the answer is %d", code)
			}
			return err
		})
	})
	asked, lasted := tokenReviews(ctx)-before, time.Since(began).Seconds()
	AddReportEntry(fmt.Sprintf("%.0f TokenReviews in %.1f s", asked, lasted))
	Expect(asked).To(BeNumerically("<=", 15+2*lasted)) // Towline asks 5 times, then once a second. The rest is for other components.
}

// tokenReviews returns the number of TokenReview requests to the hub's API server.
func tokenReviews(ctx context.Context) (reviews float64) {
	GinkgoHelper()
	admin, err := rest.HTTPClientFor(f.Hub.RESTConfig())
	Expect(err).NotTo(HaveOccurred())
	families, err := scrape.Metrics(ctx, admin, f.Hub.Server()+"/metrics")
	Expect(err).NotTo(HaveOccurred())
	for _, m := range families["apiserver_request_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "resource" && l.GetValue() == "tokenreviews" {
				reviews += scrape.Value(m)
			}
		}
	}
	return reviews
}

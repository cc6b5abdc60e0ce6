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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/scrape"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// floodLabel is on what floods make, to remove it.
const floodLabel = "flood"

// floods are the attacks that do nothing that is forbidden, and do it thousands of times.
func floods(tenant, agent, addon *client.Client) {
	var bystander *argocd.Application
	var flooded []*argocd.Application
	var reader *http.Client

	BeforeAll(func(ctx SpecContext) {
		reader = metricsReader(ctx, "flood-reader")
		bystander = standalone(ctx, "bystander", "cluster2")
		expectAtRest(ctx, bystander.Name)
		// Its real agent would put things right at once.
		Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed()) })
		for i := range 4 {
			app := tenantApp(fmt.Sprintf("flooded-%d", i))
			submit(ctx, *tenant, app)
			Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
			flooded = append(flooded, app)
		}
	})
	AfterAll(func(ctx SpecContext) {
		now, err := read(hub, bystander)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(fmt.Sprint(now)).NotTo(ContainSubstring("flood"), "somebody else's Application shows it")
	})

	// says is a status of a work that differs from all others.
	says := func(app *argocd.Application, i int64, message string) client.Patch {
		b := fixture.Feedback(work.Identifier(app)).Healthy(fmt.Sprintf("%040x", i)).String("resourceVersion", fmt.Sprint(i)).
			String("healthStatus", []string{"Degraded", "Progressing", "Healthy"}[i%3]).String("healthMessage", message)
		data, err := json.Marshal(map[string]any{"status": b.Obj()})
		Expect(err).NotTo(HaveOccurred())
		return merge(string(data))
	}

	It("of statuses of works holds up nobody else, and its last word is shown", inEtcd, func(ctx SpecContext) {
		harmless(ctx, func() {
			withstands(ctx, reader, bystander, 3000, 2, func(ctx context.Context, i int64) error {
				app := flooded[i%int64(len(flooded))]
				return (*agent).Status().Patch(ctx, workOf(app), says(app, i, fmt.Sprintf("flood %d", i)))
			})
			for i, app := range flooded {
				Expect((*agent).Status().Patch(ctx, workOf(app), says(app, 1<<40+int64(i), "the last word"))).To(Succeed())
				Eventually(ctx, read(hub, app)).Should(HaveField("Status.Health.Message", "the last word"))
			}
		})
	})

	It("of reports, large ones among them, holds up nobody else, and its last word is shown", func(ctx SpecContext) {
		// As large as the schema allows, which is more than an agent sends.
		tree := make([]v1alpha1.TreeNode, 500)
		for i := range tree {
			tree[i] = v1alpha1.TreeNode{Version: "v1", Kind: "Pod", Name: fmt.Sprint("flood-", i), UID: fmt.Sprint(i),
				Health: &argocd.Health{Status: "Degraded", Message: strings.Repeat("A", 1600)}}
		}
		// Reports on its own Applications, on ones that nobody has, and ones larger than any agent's.
		report := func(i int64) *v1alpha1.ApplicationReport {
			app := flooded[i%int64(len(flooded))]
			r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: workOf(app).Name}}
			r.Application.Namespace, r.Application.Name = app.ClusterNamespace(), app.Name
			r.Application.UID, r.Application.ResourceVersion = "there", fmt.Sprint(1<<41+i)
			r.ObservedAt = time.Now().UTC().Format(time.RFC3339)
			r.Status.Health = argocd.Health{Status: []string{"Degraded", "Progressing", "Healthy"}[i%3], Message: fmt.Sprintf("flood %d", i)}
			switch {
			case i%30 == 1:
				r.Name, r.Tree = fmt.Sprintf("large-%d", i/30%10), tree
			case i%3 == 0:
				r.Name = fmt.Sprintf("nobody-%d", i/3%300)
			}
			return r
		}
		send := func(ctx context.Context, r *v1alpha1.ApplicationReport) error {
			data, err := json.Marshal(map[string]any{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ApplicationReport",
				"metadata":    map[string]any{"name": r.Name, "namespace": r.Namespace, "labels": map[string]string{floodLabel: "true"}},
				"application": r.Application, "observedAt": r.ObservedAt, "status": r.Status,
				"tree": r.Tree,
			})
			if err != nil {
				return err
			}
			return (*addon).Patch(ctx, r, client.RawPatch("application/apply-patch+yaml", data), client.FieldOwner("flood"), client.ForceOwnership)
		}
		DeferCleanup(func(ctx SpecContext) {
			Expect(hub.DeleteAllOf(ctx, &v1alpha1.ApplicationReport{}, client.InNamespace("cluster1"), client.MatchingLabels{floodLabel: "true"})).To(Succeed())
		})
		larger := report(2)
		larger.Status.Health.Message = strings.Repeat("A", 900_000)
		denied(send(ctx, larger), "Too long")
		harmless(ctx, func() {
			withstands(ctx, reader, bystander, 1500, 2, func(ctx context.Context, i int64) error { return send(ctx, report(i)) })
			for i := range flooded {
				last := report(int64(1<<20*len(flooded)*30 + i))
				last.Name, last.Status.Health.Message = workOf(flooded[i]).Name, "the last report"
				Expect(send(ctx, last)).To(Succeed())
				Eventually(ctx, read(hub, flooded[i])).Should(HaveField("Status.Health.Message", "the last report"))
			}
		})
	})

	It("of Applications, changes, refreshes and events of a tenant holds up nobody else, and all of it is dealt with", func(ctx SpecContext) {
		many := func(i int64) *argocd.Application {
			return tenantApp(fmt.Sprintf("many-%d", i), func(b *fixture.ApplicationBuilder) {
				b.Label(floodLabel, "true")
				if i%2 == 0 {
					b.Cluster("cluster2") // which it may not use
				}
			})
		}
		event := func(i int64) *corev1.Event {
			return &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: tenantNamespace, GenerateName: "flood-", Labels: map[string]string{floodLabel: "true"}},
				InvolvedObject: corev1.ObjectReference{APIVersion: argocd.GroupVersion.String(), Kind: "Application", Namespace: tenantNamespace, Name: "flooded-0"},
				Reason:         "Flood", Message: fmt.Sprintf("flood %d", i), Type: corev1.EventTypeWarning, EventTime: metav1.NowMicro(),
				ReportingController: "towline", ReportingInstance: "towline", Action: "Flood",
			}
		}
		const last = "the last change"
		list := func(ctx context.Context) []argocd.Application {
			all := &argocd.ApplicationList{}
			Expect(hub.List(ctx, all, client.InNamespace(tenantNamespace), client.MatchingLabels{floodLabel: "true"})).To(Succeed())
			return all.Items
		}
		DeferCleanup(func(ctx SpecContext) {
			apps := list(ctx)
			in := []client.DeleteAllOfOption{client.InNamespace(tenantNamespace), client.MatchingLabels{floodLabel: "true"}}
			Expect(hub.DeleteAllOf(ctx, &argocd.Application{}, in...)).To(Succeed())
			Expect(hub.DeleteAllOf(ctx, &corev1.Event{}, in...)).To(Succeed())
			for i := range apps {
				Eventually(ctx, read(hub, &apps[i])).Should(BeNil())
				Expect(client.IgnoreNotFound(hub.Delete(ctx, workOf(&apps[i])))).To(Succeed())
			}
		})
		harmless(ctx, func() {
			// An Application that comes takes more than a change: its work, its conditions and events.
			withstands(ctx, reader, bystander, 1200, 4, func(ctx context.Context, i int64) error {
				app := flooded[i%int64(len(flooded))].DeepCopy()
				switch {
				case i%6 == 0 && i <= 1200:
					return (*tenant).Create(ctx, many(i/6))
				case i%6 == 1:
					return (*tenant).Create(ctx, event(i))
				case i%6 == 2:
					return (*tenant).Patch(ctx, app, merge(annotationPatch(apis.AnnotationRefresh, "hard")))
				}
				return (*tenant).Patch(ctx, app, merge(annotationPatch("note", fmt.Sprintf("flood %d", i))))
			})
			for _, app := range flooded {
				Expect((*tenant).Patch(ctx, app.DeepCopy(), merge(annotationPatch("note", last)))).To(Succeed())
				Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Spec.Workload.Manifests",
					ContainElement(HaveField("Raw", WithTransform(func(raw []byte) string { return string(raw) }, ContainSubstring(last))))))
			}
			apps := list(ctx)
			Expect(apps).To(HaveLen(200))
			for i := range apps {
				if apps[i].Cluster() == "cluster1" {
					Eventually(ctx, read(hub, workOf(&apps[i]))).ShouldNot(BeNil())
					continue
				}
				Eventually(ctx, read(hub, &apps[i])).Should(HaveField("Status.Conditions",
					ContainElement(HaveField("Type", apis.ConditionPropagationForbiddenError))))
			}
		})
	})

	It("of random tokens keeps nobody from the metrics, and costs the API server a few questions", func(ctx SpecContext) {
		admin, err := rest.HTTPClientFor(f.Hub.RESTConfig())
		Expect(err).NotTo(HaveOccurred())
		reviews := func() (reviews float64) {
			GinkgoHelper()
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
		// Each address is bounded for itself: this is another one than that of everything else here.
		elsewhere := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}}
		attacker := insecure(&http.Transport{DialContext: elsewhere.DialContext, MaxIdleConnsPerHost: floodWorkers})
		before, began := reviews(), time.Now()
		end := flood(ctx, 3000, func(ctx context.Context, i int64) error {
			code, err := get(ctx, attacker, tow.Metrics+"/metrics", fmt.Sprintf("random-%d-%d", began.UnixNano(), i))
			if err == nil && code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
				err = fmt.Errorf("the answer is %d", code)
			}
			return err
		})
		for range 10 {
			_, err := pressureOn(ctx, reader)
			Expect(err).NotTo(HaveOccurred())
		}
		code, _ := fetch(ctx, tow.Metrics+"/metrics", tokenOf(ctx, "flood-stranger"))
		Expect(code).To(Equal(http.StatusForbidden), "somebody new is asked about")
		sent, asked, lasted := end(), reviews()-before, time.Since(began).Seconds()
		AddReportEntry(fmt.Sprintf("%d random tokens in %.1f s: %.0f TokenReviews", sent, lasted, asked))
		Expect(asked).To(BeNumerically("<=", 15+2*lasted)) // 5, then one a second, and those of others
	})
}

package suite

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

var (
	alertWindow    = regexp.MustCompile(`\[(\d+)m\]`)
	alertThreshold = regexp.MustCompile(`> (\d{3,})`)
)

// hurried makes a second of each minute in an alert's expression: of its windows, and of the ages that it compares with, which are all
// that is larger than a hundred.
func hurried(expr string) string {
	expr = alertWindow.ReplaceAllString(expr, "[${1}s]")
	return alertThreshold.ReplaceAllStringFunc(expr, func(s string) string {
		seconds, err := strconv.Atoi(s[len("> "):])
		Expect(err).NotTo(HaveOccurred())
		return fmt.Sprintf("> %d", seconds/60)
	})
}

// refuseTowline takes verbs on a resource of the hub from Towline, until they are given back.
func refuseTowline(ctx context.Context, resource string, verbs ...string) (back func(context.Context)) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(hub.Get(ctx, types.NamespacedName{Name: "towline-controller"}, role)).To(Succeed())
	all := role.DeepCopy()
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, resource) {
			role.Rules[i].Verbs = slices.DeleteFunc(role.Rules[i].Verbs, func(v string) bool { return slices.Contains(verbs, v) })
		}
	}
	Expect(role.Rules).NotTo(Equal(all.Rules))
	Expect(hub.Update(ctx, role)).To(Succeed())
	back = func(ctx context.Context) {
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = all.Rules
		Expect(hub.Update(ctx, role)).To(Succeed())
	}
	DeferCleanup(back)
	return back
}

// delayed has a webhook of the hub take eleven seconds for each change that Towline makes of a resource.
func delayed(ctx context.Context, resource string) (over func(context.Context)) {
	GinkgoHelper()
	ends := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(11 * time.Second):
		case <-ends:
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	DeferCleanup(server.Close)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow-" + resource},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "slow.example.com", AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To(int32(30)),
			FailurePolicy: ptr.To(admissionregistrationv1.Ignore), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "towline", Expression: fmt.Sprintf(
				"request.userInfo.username == 'system:serviceaccount:%s:%s'", towline.Namespace, towline.ServiceAccount)}},
		}},
	}
	Expect(hub.Create(ctx, hook)).To(Succeed())
	over = func(ctx context.Context) { Expect(client.IgnoreNotFound(hub.Delete(ctx, hook))).To(Succeed()) }
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		over(ctx)
		close(ends)
	})
	return over
}

// misreported writes into a work's status what no agent reports: a health that Argo CD does not have.
func misreported(ctx context.Context, w *workv1.ManifestWork) {
	GinkgoHelper()
	before := w.DeepCopy()
	for i := range w.Status.ResourceStatus.Manifests {
		values := w.Status.ResourceStatus.Manifests[i].StatusFeedbacks.Values
		for j := range values {
			if values[j].Name == "healthStatus" {
				values[j].Value = workv1.FieldValue{Type: workv1.String, String: ptr.To("Splendid")}
			}
		}
	}
	Expect(w.Status).NotTo(Equal(before.Status))
	Expect(hub.Status().Patch(ctx, w, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("Each alert", Ordered, Serial, long, func() {
	const on = "cluster1"
	var p prometheus
	// fires waits until an alert fires, and clears until it does not. Its name begins so; a reason may follow.
	fires := func(ctx context.Context, alert string, began time.Time) {
		GinkgoHelper()
		Eventually(ctx, p.firing).Should(ContainElement(HavePrefix(alert)))
		AddReportEntry(fmt.Sprintf("%s fires %.0f s after its cause", alert, time.Since(began).Seconds()))
	}
	clears := func(ctx context.Context, alert string, began time.Time) {
		GinkgoHelper()
		Eventually(ctx, p.firing).ShouldNot(ContainElement(HavePrefix(alert)))
		AddReportEntry(fmt.Sprintf("%s is over %.0f s after its cause", alert, time.Since(began).Seconds()))
	}
	// slow has the hub take longer for what Towline writes than the alerts on slowness allow.
	slow := func(ctx context.Context, alert, resource string, change func()) {
		GinkgoHelper()
		over := delayed(ctx, resource)
		began := time.Now()
		// The API server takes a moment to know of the webhook.
		Eventually(ctx, func(ctx context.Context) []string {
			change()
			return p.firing(ctx)
		}).WithPolling(3 * time.Second).Should(ContainElement(alert))
		AddReportEntry(fmt.Sprintf("%s fires %.0f s after its cause", alert, time.Since(began).Seconds()))
		began = time.Now()
		over(ctx)
		clears(ctx, alert, began)
	}

	BeforeAll(func(ctx SpecContext) {
		p, _ = startPrometheus(ctx, scraped{Hurried: true})
		Eventually(ctx, p.metrics).Should(ContainElement("leader_election_master_status"))
		Eventually(ctx, p.firing).Should(BeEmpty())
	})

	It("of no Towline and no leader", func(ctx SpecContext) {
		began := time.Now()
		Expect(tow.Kill()).To(Succeed())
		started := false
		DeferCleanup(func(ctx SpecContext) {
			if !started {
				Expect(tow.Restart(ctx)).To(Succeed())
			}
		})
		fires(ctx, "TowlineDown", began)
		started = true
		began = time.Now()
		Expect(tow.Restart(ctx)).To(Succeed())
		fires(ctx, "TowlineNoLeader", began) // the lease of the one that was killed has not run out
		clears(ctx, "TowlineDown", began)
		clears(ctx, "TowlineNoLeader", began)
	})

	It("of Applications that the hub has lost", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, "alert-orphan", on)
		expectHealthy(ctx, app.Name)
		w := workOf(app)
		lose(ctx, app)
		began := time.Now()
		Expect(tow.Restart(ctx)).To(Succeed())
		fires(ctx, "TowlineApplicationsOrphaned", began)
		began = time.Now()
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "orphans", "delete", w.Namespace+"/"+w.Name, "--yes", "--wait", "--timeout", soon.String())
		Expect(code).To(BeZero(), out)
		clears(ctx, "TowlineApplicationsOrphaned", began)
	})

	It("of slow propagation and slow statuses", func(ctx SpecContext) {
		app := standalone(ctx, "alert-slow", on)
		expectHealthy(ctx, app.Name)
		slow(ctx, "TowlinePropagationSlow", "manifestworks", func() { patchHub(ctx, app.Name, annotationPatch("note", time.Now().String())) })
		slow(ctx, "TowlineStatusSlow", "applications", func() { patchHub(ctx, app.Name, `{"operation":{"sync":{}}}`) })
	})

	It("of a report that lags behind, and of one that has no room", func(ctx SpecContext) {
		began := time.Now()
		back := refuseTowline(ctx, "multiclusterapplicationsetreports", "create", "patch", "update")
		goAstray(ctx)
		fires(ctx, "TowlineReportLag", began)
		fires(ctx, "TowlineApplicationsBlocked "+apis.ReasonClusterNotFound, began)
		began = time.Now()
		back(ctx)
		clears(ctx, "TowlineReportLag", began)

		set := must(f.Hub.Kubectl(ctx, "get", "applicationset", "--namespace", argocdNamespace, "alerts", "--output", "jsonpath={.metadata.uid}"))
		must(f.Hub.Kubectl(ctx, "patch", "applicationset", "--namespace", argocdNamespace, "alerts", "--type=merge",
			`--patch={"spec":{"syncPolicy":{"applicationsSync":"create-only"}}}`)) // it leaves alone what its generator does not ask for
		began = time.Now()
		for i := range 1500 {
			app := fixture.Application(fmt.Sprintf("alert-full-%04d-%s", i, strings.Repeat("x", 200))).Cluster(strings.Repeat("nowhere", 8)).Obj()
			app.UID = ""
			app.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "alerts", UID: types.UID(set), Controller: ptr.To(true)}}
			Expect(hub.Create(ctx, app)).To(Succeed())
		}
		AddReportEntry(fmt.Sprintf("1,500 Applications made in %.0f s", time.Since(began).Seconds()))
		fires(ctx, "TowlineReportTruncated", began)
		began = time.Now()
		must(f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, "alerts"))
		clears(ctx, "TowlineReportTruncated", began)
		clears(ctx, "TowlineApplicationsBlocked", began)
	}, NodeTimeout(10*soon))

	It("of a cluster that is away, of a deletion that waits for it, and of what it should not say", func(ctx SpecContext) {
		deleting, misread := standalone(ctx, "alert-deleting", on), standalone(ctx, "alert-misreported", on)
		for _, app := range []*argocd.Application{deleting, misread} {
			expectAtRest(ctx, app.Name)
		}
		began := time.Now()
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed()) })
		misreported(ctx, must(read(hub, workOf(misread))(ctx)))
		fires(ctx, "TowlineFeedbackRejected", began)
		clears(ctx, "TowlineFeedbackRejected", began)
		Expect(hub.Delete(ctx, deleting)).To(Succeed())
		fires(ctx, "TowlineClusterStale", began)
		fires(ctx, "TowlineDeletionStuck", began)
		began = time.Now()
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		clears(ctx, "TowlineClusterStale", began)
		clears(ctx, "TowlineDeletionStuck", began)
	}, NodeTimeout(10*soon))

	It("of somebody who writes works that Towline writes", func(ctx SpecContext) {
		app := standalone(ctx, "alert-fought-over", on)
		expectAtRest(ctx, app.Name)
		began := time.Now()
		undo := func(ctx context.Context) ([]string, error) {
			err := hub.Patch(ctx, workOf(app), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"manifestConfigs":null}}`)))
			return p.firing(ctx), err
		}
		Eventually(ctx, undo).Should(ContainElement(HavePrefix("TowlineWritesOnQuietHub")))
		AddReportEntry(fmt.Sprintf("TowlineWritesOnQuietHub fires %.0f s after its cause", time.Since(began).Seconds()))
		clears(ctx, "TowlineWritesOnQuietHub", time.Now())
	})

	It("of what an Application needs", func(ctx SpecContext) {
		began := time.Now()
		needy := standalone(ctx, "alert-needy", on, func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationWith, "secret/alert-missing")
		})
		fires(ctx, "TowlineDependenciesFailing", began)
		began = time.Now()
		patchHub(ctx, needy.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationWith))
		clears(ctx, "TowlineDependenciesFailing", began)
	})

	It("of a Towline that reaches neither ACM Search nor Redis, and has little memory", func(ctx SpecContext) {
		app := standalone(ctx, "alert-poor", on)
		expectHealthy(ctx, app.Name)
		ports, err := f.FreePorts(1)
		Expect(err).NotTo(HaveOccurred())
		nobody := fmt.Sprintf("127.0.0.1:%d", ports[0])
		token := filepath.Join(GinkgoT().TempDir(), "token")
		Expect(os.WriteFile(token, []byte(tokenOf(ctx, "search-reader")), 0o600)).To(Succeed())
		poor, err := towline.Start(ctx, f, towline.Options{
			Binary: binary, Name: "towline-poor", Env: []string{"GOMEMLIMIT=30MiB"},
			Args: []string{"--argocd-redis=" + nobody, "--resource-source=agent,search", "--search-url=https://" + nobody, "--search-token-file=" + token},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(poor.Stop)
		p, _ = startPrometheus(ctx, scraped{Hurried: true, Towlines: []string{tow.Metrics, poor.Metrics}})
		began := time.Now()
		tow.Stop()
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
		for _, alert := range []string{"TowlineSearchFailing", "TowlineRedisFailing", "TowlineMemoryHigh"} {
			fires(ctx, alert, began)
		}
		poor.Stop()
		began = time.Now()
		Expect(tow.Restart(ctx)).To(Succeed())
		for _, alert := range []string{"TowlineSearchFailing", "TowlineRedisFailing", "TowlineMemoryHigh"} {
			clears(ctx, alert, began)
		}
	})
})

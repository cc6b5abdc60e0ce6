package suite

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
)

var (
	alertWindow    = regexp.MustCompile(`\[(\d+)m\]`)
	alertThreshold = regexp.MustCompile(`> (\d{3,})`)
)

// hurried turns each minute in an alert's expression into a second: the minutes of the windows, and the ages in
// comparisons. Ages are all numbers above a hundred.
func hurried(expr string) string {
	expr = alertWindow.ReplaceAllString(expr, "[${1}s]")
	return alertThreshold.ReplaceAllStringFunc(expr, func(s string) string {
		seconds, err := strconv.Atoi(s[len("> "):])
		Expect(err).NotTo(HaveOccurred())
		return fmt.Sprintf("> %d", seconds/60)
	})
}

// refuseTowline removes verbs on a resource of the hub from Towline's ClusterRole. The returned function gives the
// verbs back.
func refuseTowline(ctx context.Context, group, resource string, verbs ...string) (back func(context.Context)) {
	GinkgoHelper()
	back = withRules(ctx, hub, "towline-controller", func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		for i := range rules {
			if slices.Contains(rules[i].Resources, resource) {
				rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(v string) bool { return slices.Contains(verbs, v) })
			}
		}
		return rules
	})
	for _, verb := range verbs {
		expectRefused(ctx, hub, "towline-controller", verb, group, resource)
	}
	return back
}

// delayed adds a webhook to the hub with a delay of eleven seconds for each update of a resource by Towline.
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

// misreported writes a status into a work that no agent reports: a health value unknown to Argo CD.
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

// episode is the rise and the end of an alert.
type episode struct {
	alert          string
	fired, cleared time.Duration
}

// episodes are the episodes of a run, in the order of their begin.
type episodes struct {
	p    prometheus
	seen []*episode
}

// begins waits until none of the alerts fires. The alerts then fire only because of the spec's next steps.
func (e *episodes) begins(ctx context.Context, alerts ...string) time.Time {
	GinkgoHelper()
	for _, alert := range alerts {
		Eventually(ctx, e.p.firing).ShouldNot(ContainElement(HavePrefix(alert)))
	}
	return time.Now()
}

// fires waits until an alert fires. The alert's name is a prefix: a reason may follow. Before each look at the alerts,
// fires calls the functions in again, because an API server takes a moment to know of a webhook.
func (e *episodes) fires(ctx context.Context, alert string, began time.Time, again ...func(context.Context) error) {
	GinkgoHelper()
	polling := tick
	if len(again) > 0 {
		polling = 3 * time.Second
	}
	Eventually(ctx, func(ctx context.Context) ([]string, error) {
		for _, cause := range again {
			if err := cause(ctx); err != nil {
				return nil, err
			}
		}
		return e.p.firing(ctx), nil
	}).WithPolling(polling).Should(ContainElement(HavePrefix(alert)))
	e.seen = append(e.seen, &episode{alert: alert, fired: time.Since(began)})
}

// clears waits until a fired alert does not fire any more.
func (e *episodes) clears(ctx context.Context, alert string, began time.Time) {
	GinkgoHelper()
	i := slices.IndexFunc(e.seen, func(s *episode) bool { return s.cleared == 0 && strings.HasPrefix(s.alert, alert) })
	Expect(i).To(BeNumerically(">=", 0), "%s was not seen to fire", alert)
	Eventually(ctx, e.p.firing).ShouldNot(ContainElement(HavePrefix(alert)))
	e.seen[i].cleared = time.Since(began)
}

// String returns a table of the episodes.
func (e *episodes) String() string {
	var out strings.Builder
	out.WriteString("| alert | fires after its cause | clears after its end |\n|---|---|---|\n")
	for _, s := range e.seen {
		fmt.Fprintf(&out, "| %s | %.0f s | %.0f s |\n", s.alert, s.fired.Seconds(), s.cleared.Seconds())
	}
	return out.String()
}

package envtest_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
)

const (
	// attemptsInTrouble is the limit of write attempts for the refused works until the hub accepts works again.
	attemptsInTrouble = 24

	// trouble is the minimum duration of the outage. At a steady interval of 100 ms, Towline would make thirty attempts
	// in this time.
	trouble = 3 * time.Second

	// lastAttempt limits the time until the next attempt.
	lastAttempt = time.Minute
)

// TestAHubThatTakesNoWorks: the Application shows the refusal, Towline does not retry endlessly at a high rate, and
// writes the work after the outage.
func TestAHubThatTakesNoWorks(t *testing.T) {
	for name, tc := range map[string]struct {
		cause func(t *testing.T, namespace string) []client.Object
		says  string
	}{
		"its webhook does not answer": {deadWebhook, "failed calling webhook"},
		"a quota is used up":          {quota, "exceeded quota"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			c := cluster(t)
			causes := tc.cause(t, c.Name)
			expectRefusedWorks(t, c.Name, tc.says)
			app := application(t, c).Obj()
			create(t, app)
			attempts, tried := 0, http.MethodPost+" "+"/apis/work.open-cluster-management.io/v1/namespaces/"+c.Name+"/manifestworks"
			few := func() int {
				for _, made := range r.writes.take() {
					if made == tried {
						attempts++
					}
				}
				return attempts
			}
			g := NewWithT(t)
			expectProblem(t, app, apis.ReasonWorkRejected, tc.says)
			g.Consistently(few, trouble, tick).Should(BeNumerically("<=", attemptsInTrouble), "attempts")
			for _, cause := range causes {
				if err := k8s.Delete(t.Context(), cause); err != nil {
					t.Fatal(err)
				}
			}
			g.Eventually(func() *workv1.ManifestWork { return workOf(t, app) }, lastAttempt+soon, tick).ShouldNot(BeNil())
			expectWork(t, app)
			expectNoProblem(t, app)
			t.Logf("%d attempts", few())
			if few() > attemptsInTrouble || few() == 0 {
				t.Errorf("the work was tried %d times", few())
			}
		})
	}
}

// expectRefusedWorks waits until the API server refuses works in a namespace. The API server learns of the cause
// through a watch.
func expectRefusedWorks(t *testing.T, namespace, says string) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tried"}}
		return k8s.Create(t.Context(), w, client.DryRunAll)
	}, soon, tick).Should(MatchError(ContainSubstring(says)))
}

// deadWebhook returns a webhook without a server for the works of a namespace, like Open Cluster Management's webhook
// during an outage.
func deadWebhook(t *testing.T, namespace string) []client.Object {
	t.Helper()
	w := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "manifestworks.towline.test", FailurePolicy: ptr.To(admissionv1.Fail), SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/nobody")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{"work.open-cluster-management.io"}, APIVersions: []string{"*"}, Resources: []string{"manifestworks"},
				},
			}},
		}},
	}
	create(t, w)
	return []client.Object{w}
}

// quota permits no works in a namespace. envtest has no quota controller, so the function sets the status of the quota
// too.
func quota(t *testing.T, namespace string) []client.Object {
	t.Helper()
	const works = "count/manifestworks.work.open-cluster-management.io"
	none := corev1.ResourceList{works: resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	create(t, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := k8s.Status().Update(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return []client.Object{q}
}

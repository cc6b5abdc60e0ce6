package controllers_test

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// attemptsInTrouble is how often a work may be tried that the hub does not take, until it takes it again after a few seconds.
const attemptsInTrouble = 15

// TestAHubThatTakesNoWorks says so on the Application, is not asked again and again, and gets the work when it takes it.
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
			app := application(t, c).Obj()
			create(t, app)
			expectProblem(t, app, apis.ReasonWorkRejected, tc.says)
			for _, cause := range causes {
				if err := k8s.Delete(t.Context(), cause); err != nil {
					t.Fatal(err)
				}
			}
			expectWork(t, app)
			expectNoProblem(t, app)
			attempts := 0
			for _, made := range r.writes.take() {
				if strings.HasPrefix(made, http.MethodPost) && strings.Contains(made, "/namespaces/"+work.Key(app).Namespace+"/manifestworks") {
					attempts++
				}
			}
			t.Logf("%d attempts", attempts)
			if attempts > attemptsInTrouble {
				t.Errorf("the work was tried %d times", attempts)
			}
		})
	}
}

// deadWebhook is a webhook for the works of a namespace to which nobody listens, as Open Cluster Management's while it is down.
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

// quota permits no works in a namespace. No controller counts here, so that its status is set too.
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

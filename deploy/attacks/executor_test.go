package attacks_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestWorksWithoutExecutor: Towline may create works without an executor, and may not act as a different account. The
// test sends the request of Open Cluster Management's webhook under the feature gate NilExecutorValidating.
func TestWorksWithoutExecutor(t *testing.T) {
	h := startHub(t)
	for _, file := range []string{"testdata/hub.yaml", "../rbac/role.yaml"} {
		create(t, h.admin, objects(t, file)...)
	}
	allowed := func(g Gomega, name string) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + argocdNamespace + ":towline-controller",
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "work.open-cluster-management.io", Resource: "manifestworks", Verb: "execute-as", Namespace: "cluster1", Name: name,
			},
		}}
		g.Expect(h.admin.Create(t.Context(), review)).To(Succeed())
		return review.Status.Allowed
	}
	g := NewWithT(t)
	g.Eventually(func(g Gomega) bool { return allowed(g, "system:serviceaccount::klusterlet-work-sa") }, soon, tick).Should(BeTrue())
	for _, name := range []string{"system:serviceaccount:kube-system:admin", "system:serviceaccount:default:klusterlet-work-sa"} {
		g.Expect(allowed(g, name)).To(BeFalse(), name)
	}
}

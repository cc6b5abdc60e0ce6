package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// tokenOf creates the Secret of a ManagedServiceAccount.
func tokenOf(t *testing.T, c *clusterv1.ManagedCluster, account, token, ca string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Name, Name: account, Labels: map[string]string{apis.LabelServiceAccount: "true"},
	}, StringData: map[string]string{"token": token, "ca.crt": ca}}
	create(t, s)
	return s
}

// TestGitOpsClusterOfAnotherNamespaceChoosesNoCredentials: a GitOpsCluster in a foreign namespace, first by name, does
// not replace the account of the Argo CD's own GitOpsCluster. The author also cannot add an account without a
// permission.
func TestGitOpsClusterOfAnotherNamespaceChoosesNoCredentials(t *testing.T) {
	start(t)
	ns, team := namespace(t, unique("z-argo")), namespace(t, unique("a-team"))
	reader, admin := unique("reader"), unique("admin")
	api := withURL("https://" + unique("api") + ".example.com")
	shared, alone := cluster(t, api), cluster(t, withURL("https://"+unique("api")+".example.com"))
	for _, c := range []*clusterv1.ManagedCluster{shared, alone} {
		tokenOf(t, c, reader, "token-of-reader", "CA")
		tokenOf(t, c, admin, "token-of-admin", "CA")
	}
	argo := func(change func(*corev1.Namespace)) {
		edit(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, change)
	}
	argo(func(n *corev1.Namespace) { n.Labels[apis.LabelArgoNamespace] = "true" })
	decide(t, ns, shared)
	decide(t, team, shared, alone)
	w := NewWithT(t)
	own := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = reader })
	w.Eventually(secretOf(t, ns, shared), soon, tick).Should(says("config", ContainSubstring("token-of-reader")))

	theirs := gitOpsCluster(t, team, func(g *v1beta1.GitOpsCluster) {
		g.Spec.ArgoServer.ArgoNamespace, g.Spec.ManagedServiceAccountRef = ns, admin
	})
	expectVerdict(t, theirs, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsNotAllowed,
		"by an entry "+team+"/"+admin+" in the annotation "+apis.AnnotationGitOpsAccounts+" of Namespace "+ns)
	w.Expect(secretOf(t, ns, alone)()).To(says("config", And(Not(BeEmpty()), Not(ContainSubstring("token")))))
	w.Expect(secretOf(t, ns, shared)()).To(says("config", ContainSubstring("token-of-reader")))
	expectVerdict(t, own, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")

	// With the permission, the cluster that only the foreign GitOpsCluster imports gets the token. For the shared
	// cluster, the Argo CD's own GitOpsCluster still decides.
	argo(func(n *corev1.Namespace) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, apis.AnnotationGitOpsAccounts, team+"/"+admin)
	})
	w.Eventually(secretOf(t, ns, alone), soon, tick).Should(says("config", ContainSubstring("token-of-admin")))
	expectVerdict(t, theirs, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsConflict, ns+"/fleet imports "+shared.Name)
	w.Expect(secretOf(t, ns, shared)()).To(says("config", ContainSubstring("token-of-reader")))

	argo(func(n *corev1.Namespace) { delete(n.Annotations, apis.AnnotationGitOpsAccounts) }) // the permission is withdrawn
	w.Eventually(secretOf(t, ns, alone), soon, tick).Should(says("config", Not(ContainSubstring("token"))))
}

// TestGitOpsClusterRefusesATokenWithoutAuthorities: with a token but no ca.crt, Argo CD would trust every authority of
// its system.
func TestGitOpsClusterRefusesATokenWithoutAuthorities(t *testing.T) {
	start(t)
	ns, account := namespace(t, unique("argo")), unique("manager")
	c := cluster(t, withURL("https://"+unique("api")+".example.com"))
	token := tokenOf(t, c, account, "token-1", "")
	decide(t, ns, c)
	g := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = account })
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsMissing, c.Name+"/"+account+" has no ca.crt")
	w := NewWithT(t)
	w.Expect(secretOf(t, ns, c)()).To(BeNil())
	edit(t, token, func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("CA") })
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(says("config", And(ContainSubstring("token-1"), ContainSubstring(`"caData"`))))
}

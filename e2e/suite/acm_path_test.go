package suite

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// reportsCRD is the name of the CRD of MulticlusterApplicationSetReports.
const reportsCRD = "multiclusterapplicationsetreports.apps.open-cluster-management.io"

// The lines of `kubectl towline check --pre` for the obstacles on a hub of Advanced Cluster Management.
const (
	otherController = `✗ other controllers\s+.*multicluster-integrations runs: two pull controllers`
	noGenerator     = `✗ generators\s+.*no ConfigMap of the generator`
	withCredentials = `… cluster Secrets\s+.*with credentials, or none`
	deprecatedCRD   = `… CRD of reports\s+.*deprecated`
)

// prepareACM walks the part of docs/install.md before the installation: the check first finds each obstacle, and later
// no obstacle.
func prepareACM(ctx context.Context) {
	GinkgoHelper()
	beACM(ctx)
	pre := preCheck(ctx)

	By("applying a GitOpsCluster and an ApplicationSet as on a hub of Open Cluster Management")
	hubObjects, set := onThisArgoCD("hub.yaml"), onThisArgoCD("guestbook-app-set.yaml")
	apply(ctx, strings.Replace(hubObjects, "  createBlankClusterSecrets: true\n", "", 1))
	apply(ctx, strings.Replace(set, "configMapRef: acm-placement", "configMapRef: ocm-placement-generator", 1))
	Eventually(ctx, gitOpsPhase).Should(Equal("failed"), "no cluster has a Secret with credentials")
	Expect(clusterSecrets(ctx)).To(BeEmpty())
	Expect(pre()).To(And(MatchRegexp(otherController), MatchRegexp(noGenerator), MatchRegexp(withCredentials), MatchRegexp(deprecatedCRD)))

	By("doing what the check says")
	switchOff := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: acmNamespace, Name: "multicluster-integrations-config"},
		Data:       map[string]string{"config.yaml": "pullModel:\n  basic:\n    disabled: true\n"},
	}
	Expect(hub.Create(ctx, switchOff)).To(Succeed())
	apply(ctx, hubObjects)
	apply(ctx, set)
	for _, c := range f.Clusters() {
		applyTo(ctx, &c.ControlPlane, onThisArgoCD("managed.yaml"))
	}
	Eventually(ctx, gitOpsPhase).Should(Equal("successful"))
	for _, c := range f.Clusters() {
		s, err := read(hub, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: c.Name() + "-cluster-secret"}})(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s).NotTo(BeNil())
		Expect(s.Data).NotTo(HaveKey("config"), "a Secret has credentials")
	}
	Expect(pre()).NotTo(Or(MatchRegexp(otherController), MatchRegexp(noGenerator), MatchRegexp(withCredentials)))
}

// preCheck returns a function that returns the output of `kubectl towline check --pre`.
func preCheck(ctx context.Context) func() string {
	GinkgoHelper()
	plugin, err := towline.BuildPlugin(ctx, f)
	Expect(err).NotTo(HaveOccurred())
	return func() string {
		GinkgoHelper()
		out, _ := runs(ctx, plugin, f.Hub.Kubeconfig(), "check", "--pre")
		return out
	}
}

// prepareOldACM walks the path of docs/takeover.md for Advanced Cluster Management 2.8 to 2.16 before the installation:
// the component app-lifecycle has made cluster Secrets and is then disabled, which removes its Deployment.
func prepareOldACM(ctx context.Context) {
	GinkgoHelper()
	end := beACM(ctx)
	apply(ctx, onThisArgoCD("hub.yaml"))
	apply(ctx, onThisArgoCD("guestbook-app-set.yaml"))
	for _, c := range f.Clusters() {
		applyTo(ctx, &c.ControlPlane, onThisArgoCD("managed.yaml"))
	}
	Eventually(ctx, gitOpsPhase).Should(Equal("successful"))
	pre := preCheck(ctx)
	Expect(pre()).To(MatchRegexp(otherController))

	By("disabling the component app-lifecycle")
	end()
	integrations := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: acmNamespace, Name: "multicluster-integrations"}}
	Expect(hub.Delete(ctx, integrations)).To(Succeed())
	Eventually(ctx, pre).Should(And(Not(MatchRegexp(otherController)), ContainSubstring("no Deployment multicluster-integrations runs")))
}

// followACM is the rest of the path. The guestbook becomes Healthy, Advanced Cluster Management removes its CRD of
// reports, and Towline installs its own CRD.
func followACM(ctx context.Context) {
	GinkgoHelper()
	for _, c := range f.Clusters() {
		expectHealthy(ctx, c.Name()+"-guestbook-app")
	}
	Eventually(ctx, setReport).Should(HaveField("Statuses.Summary.Healthy", "3"))

	By("removing the CRD of reports")
	began := time.Now()
	_, err := f.Hub.Kubectl(ctx, "delete", "crd", reportsCRD)
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, setReport).Should(And(HaveField("Statuses.Summary.Healthy", "3"), HaveField("Status.Conditions", Not(BeEmpty()))))
	AddReportEntry("the reports were back " + time.Since(began).Round(time.Second).String() + " after the deletion of their CRD")
	withoutGuestbook(ctx)
}

// setReport returns the report of the guestbook, and an error if the hub has no CRD of reports.
func setReport(ctx context.Context) (*v1alpha1.MulticlusterApplicationSetReport, error) {
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	err := hub.Get(ctx, client.ObjectKey{Namespace: argocdNamespace, Name: "guestbook-app-set"}, r)
	return r, err
}

// gitOpsPhase returns the phase in the GitOpsCluster's status.
func gitOpsPhase(ctx context.Context) (string, error) {
	return f.Hub.Kubectl(ctx, "get", "gitopscluster", "clusters", "--namespace", argocdNamespace, "--output", "jsonpath={.status.phase}")
}

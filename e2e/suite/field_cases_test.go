package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// teamObjects are a namespace of the hub, and a binding that permits all clusters for the namespace's Applications.
const teamObjects = `
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: %[1]s}
spec: {clusterSet: global}
`

// projectObject is an AppProject with a single destination, for Applications of a namespace other than Argo CD's.
const projectObject = `
{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: %[1]s, namespace: %[2]s},
 spec: {sourceRepos: ["*"], sourceNamespaces: [%[1]s], destinations: [%[3]s], clusterResourceWhitelist: [{group: "", kind: Namespace}]}}
`

// teamRights lets the work agent write Applications in each namespace. It is the ClusterRole of docs/dependencies.md.
func teamRights() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "towline:work-agent:teams", Labels: map[string]string{"open-cluster-management.io/aggregate-to-work": "true"}},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		}},
	}
}

// onHubFor applies a manifest to the hub, and deletes the objects when the spec ends.
func onHubFor(ctx context.Context, manifest string, objects ...client.Object) {
	GinkgoHelper()
	apply(ctx, manifest)
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has its own
		for _, obj := range objects {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed())
		}
	})
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// selfSecret returns a cluster Secret by which the Argo CD of a cluster knows its cluster by another name.
func selfSecret(on, name string) *corev1.Secret {
	GinkgoHelper()
	config := f.Cluster(on).RESTConfig()
	data, err := json.Marshal(map[string]any{
		"bearerToken": config.BearerToken,
		"tlsClientConfig": map[string]any{
			"insecure": config.Insecure, "caData": config.CAData, "certData": config.CertData, "keyData": config.KeyData,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: name, Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeCluster}},
		StringData: map[string]string{"name": name, "server": config.Host, "config": string(data)},
	}
}

var _ = Describe("An Application of a team", func() {
	It("arrives on a cluster without the namespace, which stays when the Application goes", func(ctx SpecContext) {
		const team, on = "team-new", "cluster2"
		Expect(read(cluster[on], namespaceNamed(team))(ctx)).To(BeNil())
		onHubFor(ctx, fmt.Sprintf(teamObjects+"---"+projectObject, team, argocdNamespace, "{name: "+on+", namespace: "+team+"}"),
			namespaceNamed(team), projectNamed(team))
		DeferCleanup(func(ctx SpecContext) { Expect(cluster[on].Delete(ctx, namespaceNamed(team))).To(Succeed()) })
		rights := teamRights()
		Expect(cluster[on].Create(ctx, rights)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster[on].Delete(ctx, rights)).To(Succeed()) })
		app := standalone(ctx, "of-team", on, ofProject(team, team), func(b *fixture.ApplicationBuilder) { b.Namespace(team).Finalizers() })
		Eventually(ctx, read(hub, workOf(app))).Should(Not(BeNil()))
		there := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: app.Name}}
		Eventually(ctx, read(cluster[on], there)).Should(Not(BeNil()))
		Expect(read(cluster[on], namespaceNamed(team))(ctx)).To(HaveField("Labels", HaveKeyWithValue(apis.LabelManagedBy, argocdNamespace)))

		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(cluster[on], there)).Should(BeNil())
		Expect(read(cluster[on], namespaceNamed(team))(ctx)).To(HaveField("DeletionTimestamp", BeNil()), "the namespace went with the Application")
	})

	It("in the namespace of another Argo CD of the hub is refused without advice to open an AppProject", func(ctx SpecContext) {
		const second = "shared-gitops"
		onHubFor(ctx, fmt.Sprintf(teamObjects+"---"+projectObject, second, second, `{name: "*", namespace: demo}`), namespaceNamed(second))
		app := standalone(ctx, "of-second", "cluster1", ofProject(second, "demo"), func(b *fixture.ApplicationBuilder) { b.Namespace(second).Finalizers() })
		told := func(ctx context.Context) (string, error) {
			now, err := read(hub, app)(ctx)
			if err != nil || now == nil || len(now.Status.Conditions) == 0 {
				return "", err
			}
			return now.Status.Conditions[0].Type + ": " + now.Status.Conditions[0].Message, nil
		}
		Eventually(ctx, told).Should(And(HavePrefix(apis.ConditionPropagationForbiddenError), ContainSubstring("belongs to another Argo CD")))
		said, err := told(ctx)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry(said)
		Expect(read(hub, workOf(app))(ctx)).To(BeNil())
	})
})

var _ = Describe("A destination on the cluster", func() {
	It("may be in-cluster in an AppProject, by its name", func(ctx SpecContext) {
		const name = "by-in-cluster"
		onHubFor(ctx, fmt.Sprintf(projectObject, name, argocdNamespace, "{name: in-cluster, namespace: "+name+"}"), projectNamed(name))
		standalone(ctx, name, "cluster1", ofProject(name, name))
		expectHealthy(ctx, name)
	})

	It("is the cluster Argo CD's own name for the cluster, if that Argo CD refuses kubernetes.default.svc", Serial, long, func(ctx SpecContext) {
		const name, refused = "by-own-name", "by-no-name"
		on := clustersWith("3", "a refused https://kubernetes.default.svc")[0] // 2.14 never refuses the address
		s := selfSecret(on, "edge-1")
		Expect(cluster[on].Create(ctx, s)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster[on].Delete(ctx, s)).To(Succeed()) })
		disable := func(ctx context.Context, value string) {
			GinkgoHelper()
			_, err := f.Cluster(on).Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge",
				"--patch", `{"data":{"cluster.inClusterEnabled":`+value+`}}`)
			Expect(err).NotTo(HaveOccurred())
		}
		disable(ctx, `"false"`)
		DeferCleanup(disable, "null")
		standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationDestinationName, "edge-1") })
		expectHealthy(ctx, name)
		Expect(read(cluster[on], named(name))(ctx)).To(HaveField("DestinationSaid()", argocd.Destination{Name: "edge-1"}))
		deployment(ctx, on, name)

		app := standalone(ctx, refused, on, func(b *fixture.ApplicationBuilder) { b.Finalizers() })
		Eventually(ctx, read(hub, app)).Should(HaveField("Status.Conditions", ContainElement(Satisfy(func(c argocd.Condition) bool {
			return strings.HasSuffix(c.Type, "Error") && strings.Contains(c.Message, "is disabled")
		}))))
	})
})

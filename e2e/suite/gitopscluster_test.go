package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// clusters returns the GitOpsCluster of example/hub, and allClusters its Placement.
func clusters() *v1beta1.GitOpsCluster {
	return &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "clusters"}}
}

func allClusters() *clusterv1beta1.Placement {
	return &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "all-clusters"}}
}

// secretOf returns the key of the Secret of a cluster in the hub's Argo CD, to read.
func secretOf(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: clustersecret.Name(name)}}
}

// says matches a GitOpsCluster by a condition with the given values. The condition must have the current generation.
func says(conditionType string, status metav1.ConditionStatus, reason, message string) OmegaMatcher {
	return WithTransform(func(g *v1beta1.GitOpsCluster) string {
		if g == nil {
			return ""
		}
		c := meta.FindStatusCondition(g.Status.Conditions, conditionType)
		if c == nil || c.ObservedGeneration != g.Generation {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}, And(HavePrefix(fmt.Sprintf("%s %s: ", status, reason)), ContainSubstring(message)))
}

// configured matches a cluster Secret by its config.
func configured(config OmegaMatcher) OmegaMatcher {
	return HaveField("Data", HaveKeyWithValue("config", WithTransform(func(b []byte) string { return string(b) }, config)))
}

// label sets a label of a ManagedCluster. An empty value removes the label.
func label(ctx context.Context, cluster, key, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if value == "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	Expect(hub.Patch(ctx, c, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// chooseAllBut makes the Placement of example/hub choose all clusters except the given cluster. With an empty name, the
// Placement chooses all clusters.
func chooseAllBut(ctx context.Context, cluster string) {
	GinkgoHelper()
	p, err := read(hub, allClusters())(ctx)
	Expect(err).NotTo(HaveOccurred())
	before := p.DeepCopy()
	p.Spec.Predicates = nil
	if cluster != "" {
		p.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
			LabelSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{cluster}},
			}},
		}}}
	}
	Expect(hub.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
}

// withoutApplicationSet deletes an ApplicationSet when the spec ends, and waits until the given Applications are gone.
func withoutApplicationSet(name string, apps ...string) {
	DeferCleanup(deleteApplicationSet, name, apps)
}

// deleteApplicationSet deletes an ApplicationSet if it exists, and waits until the given Applications are gone.
func deleteApplicationSet(ctx context.Context, name string, apps []string) {
	GinkgoHelper()
	_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, name, "--wait=false", "--ignore-not-found")
	Expect(err).NotTo(HaveOccurred())
	for _, app := range apps {
		Eventually(ctx, read(hub, named(app))).Should(BeNil())
	}
}

// withoutGuestbook deletes the ApplicationSet of example/guestbook-app-set.yaml and its Applications.
func withoutGuestbook(ctx context.Context) {
	GinkgoHelper()
	deleteApplicationSet(ctx, "guestbook-app-set", []string{"cluster1-guestbook-app", "cluster2-guestbook-app", "cluster3-guestbook-app"})
}

var _ = Describe("A GitOpsCluster", usesRights, imports, func() {
	// After each spec, the Placement chooses all clusters again, and Argo CD knows all clusters.
	AfterEach(func(ctx SpecContext) {
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/hub/gitopscluster.yaml")).To(Succeed())
		chooseAllBut(ctx, "")
		for _, c := range f.Clusters() {
			label(ctx, c.Name(), "env", "")
			Eventually(ctx, read(hub, secretOf(c.Name()))).Should(And(Not(BeNil()), HaveField("Labels", Not(HaveKey("env")))))
		}
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "3 clusters"))
	})

	It("takes an ApplicationSet from nothing to Healthy", func(ctx SpecContext) {
		By("cleaning up when it is deleted")
		Expect(hub.Delete(ctx, clusters())).To(Succeed())
		Eventually(ctx, read(hub, clusters())).Should(BeNil())
		Eventually(ctx, clusterSecrets).Should(BeEmpty())

		began := time.Now()
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/hub/gitopscluster.yaml")).To(Succeed())
		Expect(towline.WaitImported(ctx, f)).To(Succeed())
		AddReportEntry(fmt.Sprintf("3 clusters imported after %.2f s", time.Since(began).Seconds()))
		Eventually(ctx, clusterSecrets).Should(HaveLen(3)) // the Secret of another spec's cluster may still be removed
		By("restoring changed and deleted parts")
		drift(ctx, "configmap", "ocm-placement-generator", `{"data":{"matchKey":"nonsense"}}`, "{.data.matchKey}", "clusterName")
		drift(ctx, "role", "ocm-placement-consumer", `{"rules":[]}`, "{.rules[0].verbs}", `["list"]`)
		drift(ctx, "rolebinding", "ocm-placement-consumer", `{"subjects":[]}`, "{.subjects[0].name}", "system:serviceaccounts:argocd")
		unlabelled := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, apis.LabelSecretType)
		drift(ctx, "secret", secretOf("cluster3").Name, unlabelled, `{.metadata.labels.argocd\.argoproj\.io/secret-type}`, "cluster")

		began = time.Now()
		DeferCleanup(withoutGuestbook)
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-app-set.yaml")).To(Succeed())
		for _, c := range f.Clusters() {
			expectHealthy(ctx, c.Name()+"-guestbook-app")
		}
		AddReportEntry(fmt.Sprintf("and Healthy on 3 clusters after %.2f s", time.Since(began).Seconds()))
		show(ctx, "imported", "get", "gitopsclusters")
		show(ctx, "imported", "get", "gitopsclusters", "clusters", "--output", "yaml")
		show(ctx, "imported", "describe", "gitopsclusters", "clusters")
	})

	It("moves a cluster to a second overlay by a label, and removes the app before the Secret", long, func(ctx SpecContext) {
		const app = "cluster1-environment"
		deployed := func(name string) func(context.Context) (int32, error) {
			return func(ctx context.Context) (int32, error) {
				d := guestbookOf("guestbook")
				d.Name = name + "-" + d.Name
				d, err := read(cluster["cluster1"], d)(ctx)
				if err != nil || d == nil {
					return 0, err
				}
				return d.Status.AvailableReplicas, nil
			}
		}
		label(ctx, "cluster1", "env", "dev")
		withoutApplicationSet("environments-app-set", app)
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/environments-app-set.yaml")).To(Succeed())
		expectHealthy(ctx, app)
		Eventually(ctx, deployed("dev")).Should(BeEquivalentTo(1))

		began := time.Now()
		label(ctx, "cluster1", "env", "prod")
		Eventually(ctx, deployed("prod")).Should(BeEquivalentTo(3))
		Eventually(ctx, deployed("dev")).Should(BeZero())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			now, err := read(hub, named(app))(ctx)
			return string(now.Spec.Raw), err
		}).Should(ContainSubstring("overlays/prod"))
		expectHealthy(ctx, app)
		AddReportEntry(fmt.Sprintf("moved from dev to prod after %.2f s", time.Since(began).Seconds()))

		By("leaving the Placement: the app, then the Secret")
		began = time.Now()
		chooseAllBut(ctx, "cluster1")
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			g.Expect(read(hub, secretOf("cluster1"))(ctx)).To(BeNil())
			Expect(read(hub, named(app))(ctx)).To(BeNil(), "the Secret went before the Application")
		}).WithTimeout(clusterimport.DefaultGrace + soon).Should(Succeed())
		Expect(deployed("prod")(ctx)).To(BeZero())
		AddReportEntry(fmt.Sprintf("app and Secret gone after %.2f s", time.Since(began).Seconds()))
	})

	It("has ApplicationSets follow its Placement at once, by the ConfigMap that the console names", long, func(ctx SpecContext) {
		apps := []string{"cluster1-followed", "cluster2-followed", "cluster3-followed"}
		withoutApplicationSet("followed", apps...)
		apply(ctx, `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: followed, namespace: argocd}
spec:
  generators:
  - clusterDecisionResource:
      configMapRef: acm-placement
      labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: all-clusters}}
      requeueAfterSeconds: 3600
  template:
    metadata:
      name: '{{name}}-followed'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations: {apps.open-cluster-management.io/ocm-managed-cluster: '{{name}}', argocd.argoproj.io/skip-reconcile: "true"}
    spec:
      project: default
      source: {repoURL: https://github.com/argoproj/argocd-example-apps.git, targetRevision: HEAD, path: guestbook}
      destination: {server: https://kubernetes.default.svc, namespace: followed}
`)
		for _, app := range apps {
			Eventually(ctx, read(hub, named(app))).ShouldNot(BeNil())
		}
		began := time.Now()
		chooseAllBut(ctx, "cluster3")
		Eventually(ctx, read(hub, named(apps[2]))).Should(BeNil())
		AddReportEntry(fmt.Sprintf("an Application went %.1f s after its cluster was passed over", time.Since(began).Seconds()))
		Eventually(ctx, read(hub, secretOf("cluster3"))).WithTimeout(clusterimport.DefaultGrace + soon).Should(BeNil())

		began = time.Now()
		chooseAllBut(ctx, "") // Towline creates the Secret again, and the generator needs it
		Eventually(ctx, read(hub, named(apps[2]))).ShouldNot(BeNil())
		AddReportEntry(fmt.Sprintf("an Application came %.1f s after its cluster was chosen", time.Since(began).Seconds()))
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return f.Hub.Kubectl(ctx, "get", "applicationset", "--namespace", argocdNamespace, "followed",
				"--output", `jsonpath={.metadata.annotations.argocd\.argoproj\.io/application-set-refresh}`)
		}).Should(BeEmpty())
	})

	It("keeps the Secret of a cluster outside the Placement while an Application targets the cluster", long, func(ctx SpecContext) {
		app := standalone(ctx, "lingering", "cluster2")
		expectHealthy(ctx, app.Name)
		chooseAllBut(ctx, "cluster2")
		Eventually(ctx, read(hub, clusters())).WithTimeout(clusterimport.DefaultGrace + soon).Should(
			says(apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonApplicationsRemain, "Application argocd/lingering"))
		show(ctx, "while an Application remains", "get", "gitopsclusters", "clusters", "--output", "yaml")
		Expect(read(hub, secretOf("cluster2"))(ctx)).NotTo(BeNil())
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, secretOf("cluster2"))).Should(BeNil())
		Expect(read(hub, app)(ctx)).To(BeNil())
	})

	It("moves an app to the cluster with the best score", func(ctx SpecContext) {
		for _, c := range f.Clusters() {
			score(ctx, c.Name(), 0)
		}
		score(ctx, "cluster2", 80)
		withoutApplicationSet("best-cluster-app-set", "cluster2-best", "cluster3-best")
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "placement", "--namespace", argocdNamespace, "best-cluster")
			Expect(err).NotTo(HaveOccurred())
		})
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/best-cluster-app-set.yaml")).To(Succeed())
		expectHealthy(ctx, "cluster2-best")
		deployment(ctx, "cluster2", "guestbook")
		// The Application may have started on a different cluster: before the Placement noticed the score, or while
		// cluster2 came back from an earlier spec.
		for _, c := range []string{"cluster1", "cluster3"} {
			Eventually(ctx, read(hub, named(c+"-best"))).Should(BeNil())
		}
		began := time.Now()
		score(ctx, "cluster3", 100)
		expectHealthy(ctx, "cluster3-best")
		deployment(ctx, "cluster3", "guestbook")
		Eventually(ctx, read(hub, named("cluster2-best"))).Should(BeNil())
		Eventually(ctx, read(cluster["cluster2"], guestbookOf("guestbook"))).Should(BeNil())
		AddReportEntry(fmt.Sprintf("moved to the best cluster after %.2f s", time.Since(began).Seconds()))
	})

	It("puts the token of a ManagedServiceAccount only into the requested Secrets", imports, func(ctx SpecContext) {
		if *profile == oldACM {
			Skip("createBlankClusterSecrets, which the examples for this hub set, removes the credentials")
		}
		const account = "argocd-manager"
		token := mintToken(ctx, "cluster1", account)
		Expect(hub.Create(ctx, token)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, token)).To(Succeed()) })
		DeferCleanup(asks, "")
		By("without the right to read them") // the suite's Towline has the right from another component
		tow.Stop()                           // the watch of an earlier spec's tokens would go on
		Expect(tow.Restart(ctx)).To(Succeed())
		_, err := f.Hub.Kubectl(ctx, "delete", "clusterrolebinding", "towline-controller-objects")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/components/propagate-objects/role.yaml")).To(Succeed())
		})
		expectRefused(ctx, hub, "towline-controller", "list", "", "secrets")
		asks(ctx, account)
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsForbidden,
			"component managed-serviceaccount"))
		const component = "deploy/components/managed-serviceaccount/role.yaml"
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, component)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "clusterrole,clusterrolebinding", "towline-managed-serviceaccount")
			Expect(err).NotTo(HaveOccurred())
		})
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(ContainSubstring(string(token.Data["token"]))))
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsMissing,
			"cluster2/"+account))
		s, err := read(hub, secretOf("cluster1"))(ctx)
		Expect(err).NotTo(HaveOccurred())
		there := connect(s)
		Expect(there.List(ctx, &corev1.NamespaceList{})).To(Succeed(), "the Secret lets nobody in")

		By("rotation")
		rotated := mintToken(ctx, "cluster1", account)
		Expect(rotated.Data["token"]).NotTo(Equal(token.Data["token"]))
		began := time.Now()
		Expect(hub.Update(ctx, rotated)).To(Succeed())
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(ContainSubstring(string(rotated.Data["token"]))))
		AddReportEntry(fmt.Sprintf("rotated after %.2f s", time.Since(began).Seconds()))
		asks(ctx, "")
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(Not(ContainSubstring("bearerToken"))))

		log, err := os.ReadFile(tow.Log())
		Expect(err).NotTo(HaveOccurred())
		events, err := f.Hub.Kubectl(ctx, "get", "events", "--all-namespaces", "--output", "yaml")
		Expect(err).NotTo(HaveOccurred())
		for _, secret := range [][]byte{token.Data["token"], rotated.Data["token"]} {
			Expect(strings.Contains(string(log), string(secret)) || strings.Contains(events, string(secret))).To(BeFalse(), "a token was shown")
		}
	})

	It("of another namespace needs that namespace's consent, and loses its Secrets with it", imports, func(ctx SpecContext) {
		const team = "team-inside"
		namespaceOn(ctx, hub, team)
		p := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "mine"}}
		Expect(hub.Create(ctx, &clusterv1beta2.ManagedClusterSetBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "global"}, Spec: clusterv1beta2.ManagedClusterSetBindingSpec{ClusterSet: "global"},
		})).To(Succeed())
		Expect(hub.Create(ctx, p)).To(Succeed())
		g := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "theirs"}}
		g.Spec.ArgoServer.ArgoNamespace = argocdNamespace
		g.Spec.PlacementRef = &corev1.ObjectReference{Kind: "Placement", Name: p.Name}
		Expect(hub.Create(ctx, g)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, g)).To(Succeed()) })
		Eventually(ctx, read(hub, g)).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonArgoNamespaceNotAllowed, ""))

		consent := func(ctx context.Context, value string) {
			patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, apis.LabelArgoNamespace, value)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}
			Expect(hub.Patch(ctx, ns, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		}
		consent(ctx, `"true"`)
		DeferCleanup(consent, "null")
		owners := func(ctx context.Context) (string, error) {
			s, err := read(hub, secretOf("cluster1"))(ctx)
			if s == nil || err != nil {
				return "", err
			}
			return s.Annotations[apis.AnnotationGitOpsClusters], nil
		}
		Eventually(ctx, owners).Should(Equal("argocd/clusters,team-inside/theirs"))
		Eventually(ctx, read(hub, g)).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "3 clusters"))
		consent(ctx, "null")
		Eventually(ctx, owners).Should(Equal("argocd/clusters"))
		Eventually(ctx, read(hub, g)).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonArgoNamespaceNotAllowed, ""))
	})

	It("of a tenant reaches no other namespace", imports, func(ctx SpecContext) {
		const tenant = "team-outside"
		namespaceOn(ctx, hub, tenant)
		outsider := as(ctx, tenant, "apps.open-cluster-management.io/gitopsclusters", "cluster.open-cluster-management.io/placements")
		// The Secret of an earlier spec's cluster may still be removed.
		Eventually(ctx, clusterSecrets).WithTimeout(clusterimport.DefaultGrace + soon).Should(HaveLen(len(f.Clusters())))
		// Changes of earlier specs reach the Secrets first: wait until all Secrets are unchanged for two seconds.
		var before map[string]string
		Eventually(ctx, func(ctx context.Context) bool {
			last := before
			before = everySecret(ctx)
			return maps.Equal(before, last)
		}).WithPolling(2 * time.Second).Should(BeTrue())

		submit := func(name, argoNamespace string, placement corev1.ObjectReference) *v1beta1.GitOpsCluster {
			g := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name}}
			g.Spec.ArgoServer.ArgoNamespace = argoNamespace
			g.Spec.ManagedServiceAccountRef = "argocd-manager"
			g.Spec.PlacementRef = &placement
			Expect(outsider.Create(ctx, g)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(outsider.Delete(ctx, g)).To(Succeed()) })
			return g
		}
		mine := corev1.ObjectReference{Kind: "Placement", Name: "mine"}
		Expect(outsider.Create(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: mine.Name}})).To(Succeed())
		Eventually(ctx, read(hub, submit("into-argocd", argocdNamespace, mine))).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse,
			apis.ReasonArgoNamespaceNotAllowed, "an administrator may allow the namespace"))
		// In the tenant's own namespace, Towline has no rights. The tenant therefore gets no token.
		Eventually(ctx, read(hub, submit("into-its-own", tenant, mine))).Should(says(apis.ConditionClustersImported, metav1.ConditionFalse,
			apis.ReasonArgoNamespaceForbidden, "RoleBinding"))
		borrowed := submit("borrowed-placement", tenant, corev1.ObjectReference{Kind: "Placement", Namespace: argocdNamespace, Name: "all-clusters"})
		Eventually(ctx, read(hub, borrowed)).Should(says(apis.ConditionPlacementResolved, metav1.ConditionFalse,
			apis.ReasonPlacementRefInvalid, "another namespace"))

		argo := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: argocdNamespace}}
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, apis.LabelArgoNamespace)
		Expect(outsider.Patch(ctx, argo, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(MatchError(ContainSubstring("forbidden")))
		Expect(everySecret(ctx)).To(Equal(before))
		Expect(tow.Exited()).NotTo(BeClosed())
		Eventually(ctx, read(hub, clusters())).Should(says(apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, ""))
	})
})

// drift changes an object in Argo CD's namespace of the hub by a merge patch, and waits until Towline has reverted the
// change.
func drift(ctx context.Context, kind, name, patch, path, want string) {
	GinkgoHelper()
	at := func(ctx context.Context, args ...string) string {
		out, err := f.Hub.Kubectl(ctx, append([]string{"--namespace", argocdNamespace}, args...)...)
		Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(out)
	}
	at(ctx, "patch", kind, name, "--type=merge", "--patch", patch)
	Eventually(ctx, func(ctx context.Context) string { return at(ctx, "get", kind, name, "--output", "jsonpath="+path) }).Should(Equal(want))
}

// clusterSecrets returns the cluster Secrets of the hub's Argo CD.
func clusterSecrets(ctx context.Context) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := hub.List(ctx, list, client.InNamespace(argocdNamespace), client.MatchingLabels{apis.LabelSecretType: apis.SecretTypeCluster})
	return list.Items, err
}

// everySecret returns the resource version of every Secret on the hub, by its key.
func everySecret(ctx context.Context) map[string]string {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(hub.List(ctx, list)).To(Succeed())
	out := map[string]string{}
	for i := range list.Items {
		out[client.ObjectKeyFromObject(&list.Items[i]).String()] = list.Items[i].ResourceVersion
	}
	return out
}

// as returns a client for a user with all rights on some kinds in a namespace of the hub, and without any further
// rights.
func as(ctx context.Context, namespace string, resources ...string) client.Client {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}}
	for _, resource := range resources {
		group, plural, _ := strings.Cut(resource, "/")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"*"}})
	}
	Expect(client.IgnoreAlreadyExists(hub.Create(ctx, role))).To(Succeed())
	Expect(client.IgnoreAlreadyExists(hub.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
	}))).To(Succeed())
	config := rest.CopyConfig(f.Hub.RESTConfig())
	config.Impersonate.UserName = namespace
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, resource := range resources { // the API server's authorizer watches roles, and notices a new role after a moment
		group, plural, _ := strings.Cut(resource, "/")
		Eventually(ctx, allowed(hub, namespace, "create", group, plural, namespace)).Should(BeTrue(), "%s may not create %s yet", namespace, plural)
	}
	return c
}

// score sets the free capacity of a cluster in an AddOnPlacementScore, as an add-on would.
func score(ctx context.Context, cluster string, free int32) {
	GinkgoHelper()
	s := &clusterv1alpha1.AddOnPlacementScore{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "capacity"}}
	Expect(client.IgnoreAlreadyExists(hub.Create(ctx, s))).To(Succeed())
	s, err := read(hub, s)(ctx)
	Expect(err).NotTo(HaveOccurred())
	s.Status.Scores = []clusterv1alpha1.AddOnPlacementScoreItem{{Name: "free", Value: free}}
	Expect(hub.Status().Update(ctx, s)).To(Succeed())
}

// mintToken returns the Secret of the add-on managed-serviceaccount for an account of a cluster, with a real token of
// the cluster.
func mintToken(ctx context.Context, on, account string) *corev1.Secret {
	GinkgoHelper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: account}}
	Expect(client.IgnoreAlreadyExists(cluster[on].Create(ctx, sa))).To(Succeed())
	_, err := f.Cluster(on).Kubectl(ctx, "create", "clusterrolebinding", account, "--clusterrole=view", "--serviceaccount=default:"+account)
	Expect(err).To(Or(Not(HaveOccurred()), MatchError(ContainSubstring("already exists"))))
	// Two tokens of the same second are equal unless their durations differ.
	lasts := fmt.Sprintf("--duration=%ds", 3600+time.Now().Nanosecond()%3600)
	token, err := f.Cluster(on).Kubectl(ctx, "create", "token", account, "--namespace=default", lasts)
	Expect(err).NotTo(HaveOccurred())
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: on, Name: account, Labels: map[string]string{apis.LabelServiceAccount: "true"}},
		Data:       map[string][]byte{"token": []byte(strings.TrimSpace(token)), "ca.crt": f.Cluster(on).RESTConfig().CAData},
	}
}

// connect returns a client that uses a cluster Secret as a pushing Argo CD would.
func connect(s *corev1.Secret) client.Client {
	GinkgoHelper()
	var config struct {
		BearerToken     string
		TLSClientConfig struct{ CAData []byte }
	}
	Expect(json.Unmarshal(s.Data["config"], &config)).To(Succeed())
	c, err := client.New(&rest.Config{
		Host: string(s.Data["server"]), BearerToken: config.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: config.TLSClientConfig.CAData},
	}, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

package envtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// decide writes the decisions and then the status of a Placement, as OCM's placement controller would.
func decide(t *testing.T, ns string, clusters ...*clusterv1.ManagedCluster) {
	t.Helper()
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.Name
	}
	decideNames(t, ns, names...)
	count(t, ns, len(names))
}

func decideNames(t *testing.T, ns string, clusters ...string) {
	t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "all-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: "all"},
	}}
	if get(t, d.DeepCopy()) == nil {
		create(t, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"}})
		create(t, d)
	}
	d = get(t, d)
	d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
	}
	if err := k8s.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, ns string, n int) {
	t.Helper()
	satisfied(t, ns, n, metav1.ConditionTrue, "AllDecisionsScheduled")
}

// satisfied writes the Placement's status with the number of selected clusters.
func satisfied(t *testing.T, ns string, n int, status metav1.ConditionStatus, reason string) {
	t.Helper()
	p := get(t, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"}})
	p.Status.NumberOfSelectedClusters = int32(n)
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: status, Reason: reason,
	})
	if err := k8s.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// gitOpsCluster creates a GitOpsCluster for the Placement "all" of the namespace. The clusters are imported into the
// same namespace.
func gitOpsCluster(t *testing.T, ns string, edits ...func(*v1beta1.GitOpsCluster)) *v1beta1.GitOpsCluster {
	t.Helper()
	g := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "fleet"}}
	g.Spec.ArgoServer.ArgoNamespace = ns
	g.Spec.PlacementRef = &corev1.ObjectReference{Kind: "Placement", APIVersion: "cluster.open-cluster-management.io/v1beta1", Name: "all"}
	for _, edit := range edits {
		edit(g)
	}
	create(t, g)
	return g
}

// secretOf returns the Secret of a cluster in the Argo CD of a namespace, or nil if no Secret exists.
func secretOf(t *testing.T, ns string, c *clusterv1.ManagedCluster) func() *corev1.Secret {
	return func() *corev1.Secret {
		return get(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: clustersecret.Name(c.Name)}})
	}
}

// says matches a Secret by a value of its data.
func says(key string, value gomegatypes.GomegaMatcher) gomegatypes.GomegaMatcher {
	return WithTransform(func(s *corev1.Secret) string {
		if s == nil {
			return ""
		}
		return string(s.Data[key])
	}, value)
}

func labelled(key, value string) gomegatypes.GomegaMatcher {
	return And(Not(BeNil()), HaveField("Labels", HaveKeyWithValue(key, value)))
}

// expectVerdict waits until a condition for the present generation of the GitOpsCluster has the status, the reason and
// the text.
func expectVerdict(t *testing.T, g *v1beta1.GitOpsCluster, conditionType string, status metav1.ConditionStatus, reason, says string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		now := get(t, g.DeepCopy())
		c := meta.FindStatusCondition(now.Status.Conditions, conditionType)
		if c == nil || c.ObservedGeneration != now.Generation {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}, soon, tick).Should(And(HavePrefix(fmt.Sprintf("%s %s: ", status, reason)), ContainSubstring(says)))
}

func withURL(url string) func(*clusterv1.ManagedCluster) {
	return func(c *clusterv1.ManagedCluster) {
		c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: url}}
	}
}

func withLabel(key, value string) func(*clusterv1.ManagedCluster) {
	return func(c *clusterv1.ManagedCluster) {
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[key] = value
	}
}

func TestGitOpsClusterImports(t *testing.T) {
	tow := start(t)
	ns := namespace(t, unique("argo"))
	url := "https://" + unique("api") + ".example.com:6443"
	a, b := cluster(t, withURL(url), withLabel("env", "dev")), cluster(t, withURL(url))
	g := gitOpsCluster(t, ns)
	expectVerdict(t, g, apis.ConditionPlacementResolved, metav1.ConditionFalse, apis.ReasonPlacementNotFound, "Placement "+ns+"/all does not exist")
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionFalse, apis.ReasonPlacementNotFound, "")

	decide(t, ns, a, b)
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(And(says("server", Equal(url)), says("name", Equal(a.Name)),
		says("config", Equal(`{"tlsClientConfig":{"insecure":false}}`)), labelled("env", "dev"), labelled(apis.LabelSecretType, "cluster")))
	// The second cluster that claims an address does not get the address.
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(says("server", Equal("https://"+b.Name+"-control-plane")))
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "2 clusters imported")
	now := get(t, g.DeepCopy())
	w.Expect(now.Status.Clusters).To(unlessPruned(HaveValue(Equal(int32(2)))))
	w.Expect(now.Status.Phase).To(Equal(v1beta1.PhaseSuccessful))
	w.Expect(now.Status.LastUpdateTime).NotTo(BeNil())
	w.Eventually(func() []string { return eventReasons(t, g) }, soon, tick).Should(ContainElements(apis.ReasonPlacementNotFound, apis.ReasonImported))

	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ocm-placement-generator"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ocm-placement-consumer"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ocm-placement-consumer"}},
	} {
		w.Expect(get(t, obj)).NotTo(BeNil())
		w.Expect(k8s.Delete(t.Context(), obj)).To(Succeed())
		w.Eventually(func() bool { return get(t, obj) != nil }, soon, tick).Should(BeTrue(), "%T is not made again", obj)
	}

	edit(t, a, withLabel("env", "prod"))
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(labelled("env", "prod"))
	s := secretOf(t, ns, a)()
	edit(t, s, func(s *corev1.Secret) { s.Labels["team"] = "x" })
	edit(t, a, func(c *clusterv1.ManagedCluster) { delete(c.Labels, "env") })
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(And(labelled("team", "x"), Not(labelled("env", "prod"))))

	w.Expect(k8s.Delete(t.Context(), s)).To(Succeed())
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(s.UID)))))
	edit(t, secretOf(t, ns, a)(), func(s *corev1.Secret) { delete(s.Labels, apis.LabelSecretType) })
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(labelled(apis.LabelSecretType, "cluster"))

	settle(t, tow, ns)
}

// TestGitOpsClusterTakesTheAddressThatAdministratorsGave: the address from the administrators takes precedence over the
// cluster's own claim.
func TestGitOpsClusterTakesTheAddressThatAdministratorsGave(t *testing.T) {
	tow := start(t)
	ns := namespace(t, unique("argo"))
	own, given := "https://"+unique("api")+".example.com:6443", "https://"+unique("api")+".example.com:6443"
	c := cluster(t, withURL(own))
	gitOpsCluster(t, ns)
	decide(t, ns, c)
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(says("server", Equal(own)))
	addressed(t, c.Name, given)
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(says("server", Equal(given)))
	edit(t, c, withURL("https://theirs.example.com:6443"))
	settle(t, tow, ns)
	w.Expect(secretOf(t, ns, c)()).To(says("server", Equal(given)))
	addressed(t, c.Name, "not an address")
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(says("server", Equal("https://"+c.Name+"-control-plane")))
	addressed(t, c.Name, "")
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(says("server", Equal("https://theirs.example.com:6443")))
}

// settle waits until Towline has written nothing for a namespace for a while. Endlessly repeated writes fail the test.
func settle(t *testing.T, tow *running, ns string) {
	t.Helper()
	made := func() []string {
		var out []string
		for _, w := range tow.writes.take() {
			if strings.Contains(w, "/"+ns+"/") {
				out = append(out, w)
			}
		}
		return out
	}
	last := time.Now()
	NewWithT(t).Eventually(func() time.Duration {
		if len(made()) > 0 {
			last = time.Now()
		}
		return time.Since(last)
	}, soon, tick).Should(BeNumerically(">", 40*tick))
}

func TestGitOpsClusterLeavesForeignSecretsAlone(t *testing.T) {
	start(t)
	ns := namespace(t, unique("argo"))
	url := "https://" + unique("api") + ".example.com"
	named, addressed, inTheWay, fine := cluster(t), cluster(t, withURL(url)), cluster(t), cluster(t)
	foreign := func(name string, data map[string]string, labels map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}, StringData: data}
		create(t, s)
		return s
	}
	secretType := map[string]string{apis.LabelSecretType: apis.SecretTypeCluster}
	secrets := []*corev1.Secret{
		foreign("hand-made", map[string]string{"name": named.Name, "server": "https://a", "config": `{"bearerToken":"t"}`}, secretType),
		foreign("elsewhere", map[string]string{"name": "other", "server": url + "/"}, secretType),
		foreign(clustersecret.Name(inTheWay.Name), map[string]string{"x": "y"}, nil),
	}
	decide(t, ns, named, addressed, inTheWay, fine)
	g := gitOpsCluster(t, ns)
	w := NewWithT(t)
	for _, says := range []string{"/elsewhere is for cluster", " has the name that Towline needs"} {
		expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonSecretConflict, says)
	}
	// The order of the clusters is undefined.
	w.Eventually(func() *int32 { return get(t, g.DeepCopy()).Status.Clusters }, soon, tick).Should(unlessPruned(HaveValue(Equal(int32(2)))))
	w.Eventually(secretOf(t, ns, fine), soon, tick).ShouldNot(BeNil())
	for _, s := range secrets {
		w.Expect(get(t, s.DeepCopy()).ResourceVersion).To(Equal(s.ResourceVersion))
	}

	// The first Secret is handed over, including its credentials.
	edit(t, secrets[0], func(s *corev1.Secret) {
		s.Labels[apis.LabelImported], s.Labels[apis.LabelClusterName] = "true", named.Name
	})
	owner := func() string { return get(t, secrets[0].DeepCopy()).Annotations[apis.AnnotationGitOpsClusters] }
	w.Eventually(owner, soon, tick).Should(Equal(ns + "/fleet"))
	handed := get(t, secrets[0].DeepCopy())
	w.Expect(handed).To(And(says("config", Equal(`{"bearerToken":"t"}`)), says("server", Equal("https://a"))))
	w.Expect(secretOf(t, ns, named)()).To(BeNil())
	w.Expect(k8s.Delete(t.Context(), secrets[1])).To(Succeed())
	w.Expect(k8s.Delete(t.Context(), secrets[2])).To(Succeed())
	w.Eventually(secretOf(t, ns, addressed), soon, tick).Should(says("server", Equal(url)))
	w.Eventually(secretOf(t, ns, inTheWay), soon, tick).ShouldNot(BeNil())
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "4 clusters")
}

// TestGitOpsClusterBesideASecretMadeByHand: Argo CD knows the cluster, and generators need no more. A handmade Secret
// counts also if the GitOpsCluster requests a token. The Secret stays unchanged, and the condition says how to hand it
// over.
func TestGitOpsClusterBesideASecretMadeByHand(t *testing.T) {
	start(t)
	ns := namespace(t, unique("argo"))
	c := cluster(t)
	byHand := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: c.Name + "-secret", Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeCluster},
	}, StringData: map[string]string{"name": c.Name, "server": "https://" + c.Name + "-control-plane:6443"}}
	create(t, byHand)
	decide(t, ns, c)
	g := gitOpsCluster(t, ns)
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, c.Name+" by "+byHand.Name)
	w := NewWithT(t)
	status := get(t, g.DeepCopy()).Status
	w.Expect(status.Phase).To(Equal(v1beta1.PhaseSuccessful))
	w.Expect(status.Clusters).To(unlessPruned(HaveValue(Equal(int32(1)))))
	w.Expect(secretOf(t, ns, c)()).To(BeNil())
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = unique("manager") })
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "puts no token into these")
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "kubectl -n "+ns+" label secret "+byHand.Name)
	w.Expect(get(t, g.DeepCopy()).Status.Phase).To(Equal(v1beta1.PhaseSuccessful))
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = "" })
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, c.Name+" by "+byHand.Name)
	w.Expect(get(t, byHand.DeepCopy()).ResourceVersion).To(Equal(byHand.ResourceVersion))

	// After its deletion, Towline creates a Secret.
	w.Expect(k8s.Delete(t.Context(), byHand)).To(Succeed())
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())
}

func TestGitOpsClusterRemovesClustersNoLongerChosen(t *testing.T) {
	start(t)
	ns := namespace(t, unique("argo"))
	a, b := cluster(t), cluster(t, withLabel("env", "dev"))
	decide(t, ns, a, b)
	g := gitOpsCluster(t, ns)
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(labelled("env", "dev"))
	uid := secretOf(t, ns, b)().UID
	app := application(t, b).Obj()
	create(t, app)
	expectWork(t, app)

	// Decisions without a confirmation in the Placement's status remove nothing.
	decideNames(t, ns, a.Name)
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonSelectionUnsettled, "")
	w.Expect(secretOf(t, ns, b)()).To(labelled("env", "dev"))

	// A confirmed decision removes nothing either while an Application remains, but the Secret loses the cluster's
	// labels.
	count(t, ns, 1)
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonApplicationsRemain,
		"for Application "+app.Namespace+"/"+app.Name)
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(And(Not(labelled("env", "dev")), HaveField("UID", uid)))
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")

	// After a new selection, the Secret gets the labels back.
	decide(t, ns, a, b)
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(And(labelled("env", "dev"), HaveField("UID", uid)))
	decide(t, ns, a)
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonApplicationsRemain, "")
	remove(t, app)
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(BeNil())
	w.Expect(secretOf(t, ns, a)()).NotTo(BeNil())
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionTrue, apis.ReasonRemoved, "")

	// A deleted Placement is no decision about its clusters.
	w.Expect(k8s.Delete(t.Context(), &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"}})).To(Succeed())
	w.Expect(k8s.DeleteAllOf(t.Context(), &clusterv1beta1.PlacementDecision{}, client.InNamespace(ns))).To(Succeed())
	expectVerdict(t, g, apis.ConditionPlacementResolved, metav1.ConditionFalse, apis.ReasonPlacementNotFound, "")
	w.Expect(secretOf(t, ns, a)()).NotTo(BeNil())
}

// TestGitOpsClusterKeepsSecretsOfPushedApplications: without the Secret, the hub's Argo CD could neither deploy an
// Application to the cluster nor remove the Application from the cluster.
func TestGitOpsClusterKeepsSecretsOfPushedApplications(t *testing.T) {
	start(t)
	for title, destination := range map[string]func(c *clusterv1.ManagedCluster) string{
		"by name": func(c *clusterv1.ManagedCluster) string { return fmt.Sprintf(`{"name":%q}`, c.Name) },
		"by address": func(c *clusterv1.ManagedCluster) string {
			return fmt.Sprintf(`{"server":"https://%s.example.com:6443/"}`, c.Name)
		},
	} {
		t.Run(title, func(t *testing.T) {
			ns := namespace(t, unique("argo"))
			a, b := cluster(t), cluster(t)
			edit(t, b, func(c *clusterv1.ManagedCluster) {
				c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://" + c.Name + ".example.com:6443"}}
			})
			decide(t, ns, a, b)
			g := gitOpsCluster(t, ns)
			w := NewWithT(t)
			w.Eventually(secretOf(t, ns, b), soon, tick).ShouldNot(BeNil())
			app := &argocd.Application{}
			app.Namespace, app.Name = namespace(t, unique("apps")), "pushed"
			app.Spec.Raw = []byte(`{"project":"default","source":{"repoURL":"https://x","path":"."},"destination":` + destination(b) + `}`)
			create(t, app)
			decide(t, ns, a)
			expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonApplicationsRemain,
				"for Application "+app.Namespace+"/"+app.Name)
			w.Expect(secretOf(t, ns, b)()).NotTo(BeNil())
			remove(t, app)
			decide(t, ns, a, cluster(t)) // saves the wait for the next check in a minute
			w.Eventually(secretOf(t, ns, b), soon, tick).Should(BeNil())
			expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionTrue, apis.ReasonRemoved, "")
		})
	}
}

func TestGitOpsClusterCleansUp(t *testing.T) {
	start(t)
	ns := namespace(t, unique("argo"))
	shared, own := cluster(t), cluster(t)
	decide(t, ns, shared, own)
	g := gitOpsCluster(t, ns)
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, own), soon, tick).ShouldNot(BeNil())
	second := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Name = "second" })
	owners := func() string {
		s := secretOf(t, ns, shared)()
		if s == nil {
			return ""
		}
		return s.Annotations[apis.AnnotationGitOpsClusters]
	}
	w.Eventually(owners, soon, tick).Should(Equal(ns + "/fleet," + ns + "/second"))

	app := application(t, own).Obj()
	create(t, app)
	expectWork(t, app)
	w.Expect(k8s.Delete(t.Context(), g.DeepCopy())).To(Succeed())
	w.Eventually(func() *v1beta1.GitOpsCluster { return get(t, g.DeepCopy()) }, soon, tick).Should(BeNil())
	w.Expect(owners()).To(Equal(ns + "/second"))

	// The last GitOpsCluster waits for the Applications.
	w.Expect(k8s.Delete(t.Context(), second.DeepCopy())).To(Succeed())
	w.Eventually(secretOf(t, ns, shared), soon, tick).Should(BeNil())
	expectVerdict(t, second, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonApplicationsRemain, app.Namespace+"/"+app.Name)
	w.Expect(secretOf(t, ns, own)()).NotTo(BeNil())
	remove(t, app)
	w.Eventually(func() *v1beta1.GitOpsCluster { return get(t, second.DeepCopy()) }, soon, tick).Should(BeNil())
	w.Expect(secretOf(t, ns, own)()).To(BeNil())
	w.Expect(get(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ocm-placement-generator"}})).To(BeNil())
}

func TestGitOpsClusterOfAnotherNamespace(t *testing.T) {
	start(t)
	ns, home := namespace(t, unique("argo")), namespace(t, unique("team"))
	c := cluster(t)
	decide(t, home, c)
	g := gitOpsCluster(t, home, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = ns })
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonArgoNamespaceNotAllowed,
		"kubectl label namespace "+ns+" "+apis.LabelArgoNamespace+"=true")
	w := NewWithT(t)
	w.Expect(secretOf(t, ns, c)()).To(BeNil())

	allow := func(value string) {
		edit(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, func(n *corev1.Namespace) { n.Labels[apis.LabelArgoNamespace] = value })
	}
	allow("true")
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "")
	allow("false") // the permission is withdrawn
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(BeNil())
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonArgoNamespaceNotAllowed, "")
	allow("true")
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())

	// A change to its own namespace removes the Secret from the former namespace.
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = home })
	w.Eventually(secretOf(t, home, c), soon, tick).ShouldNot(BeNil())
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(BeNil())
	w.Eventually(func() []string { return get(t, g.DeepCopy()).Status.ArgoNamespaces }, soon, tick).
		Should(unlessPruned(Equal([]string{home})))
}

func TestGitOpsClusterCredentials(t *testing.T) {
	tow := start(t)
	ns := namespace(t, unique("argo"))
	account := unique("manager")
	a, b := cluster(t, withURL("https://"+unique("api")+".example.com")), cluster(t, withURL("https://"+unique("api")+".example.com"))
	token := func(c *clusterv1.ManagedCluster, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Name, Name: account, Labels: map[string]string{apis.LabelServiceAccount: "true"},
		}, StringData: map[string]string{"token": value, "ca.crt": "CA"}}
	}
	first := token(a, "token-1")
	create(t, first)
	decide(t, ns, a, b)
	g := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = account })
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(says("config", ContainSubstring(`"bearerToken":"token-1"`)))
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsMissing, " "+b.Name+"/"+account)
	w.Expect(secretOf(t, ns, b)()).To(BeNil())

	create(t, token(b, "token-b"))
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(says("config", ContainSubstring("token-b")))
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "2 clusters")
	w.Expect(tow.writes.watched("/api/v1/secrets", "metadata.name="+account)).To(BeTrue())
	edit(t, first, func(s *corev1.Secret) { s.Data["token"] = []byte("token-2") })
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(says("config", ContainSubstring("token-2")))

	// A second GitOpsCluster without an account does not undo the first account, and becomes ready.
	second := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Name = "a-second" })
	expectVerdict(t, second, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "")
	w.Expect(secretOf(t, ns, a)()).To(says("config", ContainSubstring("token-2")))
	third := gitOpsCluster(t, ns, func(g *v1beta1.GitOpsCluster) { g.Name, g.Spec.ManagedServiceAccountRef = "third", unique("other") })
	for _, c := range []*clusterv1.ManagedCluster{a, b} {
		other := token(c, "token-3")
		other.Name = third.Spec.ManagedServiceAccountRef
		create(t, other)
	}
	expectVerdict(t, third, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsConflict, ns+"/fleet")
	end(t, third)

	// A deleted token does not remove the credentials in use. A token that the GitOpsCluster no longer requests is
	// removed.
	w.Expect(k8s.Delete(t.Context(), first)).To(Succeed())
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonCredentialsMissing, a.Name+"/"+account)
	w.Expect(secretOf(t, ns, a)()).To(says("config", ContainSubstring("token-2")))
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = "" })
	w.Eventually(secretOf(t, ns, a), soon, tick).Should(says("config", Not(ContainSubstring("token-2"))))
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(says("config", Not(ContainSubstring("token-b"))))
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "2 clusters")

	// Without a request for tokens, Towline does not watch them. After a new request, the tokens return.
	for _, name := range []string{account, third.Spec.ManagedServiceAccountRef} {
		w.Eventually(func() bool { return tow.writes.watched("/api/v1/secrets", "metadata.name="+name) }, soon, tick).Should(BeFalse())
	}
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = account })
	w.Eventually(secretOf(t, ns, b), soon, tick).Should(says("config", ContainSubstring("token-b")))
}

func TestGitOpsClusterShowsMistakes(t *testing.T) {
	start(t)
	for title, tc := range map[string]struct {
		edit      func(*v1beta1.GitOpsCluster)
		condition string
		reason    string
		says      string
	}{
		"another kind": {func(g *v1beta1.GitOpsCluster) { g.Spec.PlacementRef.Kind = "PlacementRule" },
			apis.ConditionPlacementResolved, apis.ReasonPlacementRefInvalid, `spec.placementRef.kind is "PlacementRule"`},
		"another version": {func(g *v1beta1.GitOpsCluster) { g.Spec.PlacementRef.APIVersion = "v1" },
			apis.ConditionPlacementResolved, apis.ReasonPlacementRefInvalid, "spec.placementRef.apiVersion"},
		"another namespace": {func(g *v1beta1.GitOpsCluster) { g.Spec.PlacementRef.Namespace = "kube-system" },
			apis.ConditionPlacementResolved, apis.ReasonPlacementRefInvalid, "spec.placementRef.namespace"},
		"no name": {func(g *v1beta1.GitOpsCluster) { g.Spec.PlacementRef.Name = "" },
			apis.ConditionPlacementResolved, apis.ReasonPlacementRefInvalid, "names no Placement"},
		"no namespace at all": {func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = "No Namespace" },
			apis.ConditionClustersImported, apis.ReasonArgoNamespaceInvalid, "cannot be a namespace"},
		"a namespace that is not there": {func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = "nowhere" },
			apis.ConditionClustersImported, apis.ReasonArgoNamespaceNotAllowed, "nowhere"},
	} {
		t.Run(title, func(t *testing.T) {
			ns := namespace(t, unique("argo"))
			decide(t, ns)
			g := gitOpsCluster(t, ns, tc.edit)
			expectVerdict(t, g, tc.condition, metav1.ConditionFalse, tc.reason, tc.says)
			expectVerdict(t, g, apis.ConditionReady, metav1.ConditionFalse, tc.reason, tc.says)
			NewWithT(t).Expect(get(t, g.DeepCopy()).Status.Phase).To(Equal(v1beta1.PhaseFailed))
		})
	}
}

package envtest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// olderLease creates the Lease of the older controller, renewed at the given age, until the test ends.
func olderLease(t *testing.T, age time.Duration) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: clusterimport.OlderLease.Namespace, Name: clusterimport.OlderLease.Name}}
	if get(t, lease.DeepCopy()) == nil {
		create(t, lease)
		t.Cleanup(func() { end(t, lease.DeepCopy()) })
	}
	edit(t, lease, func(l *coordinationv1.Lease) {
		renewed := metav1.NewMicroTime(time.Now().Add(-age))
		l.Spec = coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod_1"), LeaseDurationSeconds: ptr.To[int32](137), RenewTime: &renewed}
	})
	return lease
}

// standsBack waits for the condition StandingBack with the reason. Empty: until the condition is absent.
func standsBack(t *testing.T, g *v1beta1.GitOpsCluster, reason string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		if c := meta.FindStatusCondition(get(t, g.DeepCopy()).Status.Conditions, apis.ConditionStandingBack); c != nil {
			return c.Reason
		}
		return ""
	}, soon, tick).Should(Equal(reason))
}

// TestGitOpsClusterBesideAnOlderController: while the older controller runs, or may come back, its Secrets stay
// unchanged, and the GitOpsCluster gets only a condition. After the older controller has stopped for good, Towline
// takes over the existing Secrets with their addresses and credentials, so pushed Applications go on.
func TestGitOpsClusterBesideAnOlderController(t *testing.T) {
	const (
		host   = "cluster-proxy-addon-user.multicluster-engine.svc.cluster.local"
		proxy  = "https://" + host + ":9092/"
		config = `{"bearerToken":"theirs","tlsClientConfig":{"insecure":false,"caData":"QQ=="}}`
	)
	ns, gone := namespace(t, unique("argo")), namespace(t, unique("argo"))
	c, d := cluster(t, withURL("https://"+unique("api")+".example.com"), withLabel("env", "dev")), cluster(t)
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: c.Name + "-application-manager-cluster-secret"}}
	theirs.Labels = map[string]string{
		apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelImported: "true", apis.LabelClusterName: c.Name,
		apis.LabelClusterServer: host, "apps.open-cluster-management.io/data-source": "cluster-proxy",
	}
	theirs.StringData = map[string]string{"name": c.Name, "server": proxy + c.Name, "config": config}
	create(t, theirs)
	decide(t, ns, c, d)
	decide(t, gone, c)
	olderLease(t, 0)
	g, leaving := gitOpsCluster(t, ns), gitOpsCluster(t, gone)
	tow := start(t)
	w := NewWithT(t)
	untouched := func() {
		t.Helper()
		settle(t, tow, ns)
		w.Expect(get(t, theirs.DeepCopy()).ResourceVersion).To(Equal(theirs.ResourceVersion))
		w.Expect(secretOf(t, ns, d)()).To(BeNil())
		w.Expect(get(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: clusterimport.GeneratorConfig}})).To(BeNil())
		w.Expect(get(t, g.DeepCopy()).Finalizers).To(BeEmpty())
	}
	standsBack(t, g, apis.ReasonOlderControllerRuns)
	standsBack(t, leaving, apis.ReasonOlderControllerRuns)
	untouched()

	editStatus(t, g.DeepCopy(), func(g *v1beta1.GitOpsCluster) {
		g.Status.Phase, g.Status.Message = v1beta1.PhaseSuccessful, "theirs"
		for _, condition := range []string{"Ready", "ClustersRegistered", "ArgoServerVerified"} {
			meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Success"})
		}
	})
	untouched()
	w.Expect(get(t, g.DeepCopy()).Status.Message).To(Equal("theirs"))
	tow.stop()

	olderLease(t, time.Hour)
	tow = start(t)
	standsBack(t, g, apis.ReasonOlderControllerWrote)
	untouched()
	tow.stop()

	tow = start(t, func(o *controllers.Options) { o.TakeOverGitOpsClusters = true })
	standsBack(t, g, "")
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "2 clusters imported")
	w.Expect(get(t, g.DeepCopy()).Status.Conditions).NotTo(ContainElement(HaveField("Type", BeElementOf("ClustersRegistered", "ArgoServerVerified"))))
	w.Expect(get(t, theirs.DeepCopy())).To(And(HaveField("UID", theirs.UID), says("server", Equal(proxy+c.Name)), says("config", Equal(config)),
		labelled("env", "dev"), labelled(apis.LabelClusterServer, host)))
	w.Expect(get(t, theirs.DeepCopy()).Annotations).To(HaveKeyWithValue(apis.AnnotationGitOpsClusters, ns+"/fleet"))
	w.Expect(secretOf(t, ns, c)()).To(BeNil(), "a second Secret for the cluster")
	settle(t, tow, ns)
	tow.stop()

	// Without the flag, Towline continues, and stands back as soon as the older controller writes again. Towline then
	// removes nothing.
	start(t)
	edit(t, c, withLabel("env", "prod"))
	w.Eventually(func() *corev1.Secret { return get(t, theirs.DeepCopy()) }, soon, tick).Should(labelled("env", "prod"))
	editStatus(t, g.DeepCopy(), func(g *v1beta1.GitOpsCluster) {
		meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{Type: "ClustersRegistered", Status: metav1.ConditionTrue, Reason: "Success"})
	})
	standsBack(t, g, apis.ReasonOlderControllerWrote)
	w.Eventually(func() string { return clustersShown(t, ns) }, soon, tick).Should(BeEmpty(), "what the other one has imported is shown as Towline's")
	end(t, g)
	w.Eventually(func() *v1beta1.GitOpsCluster { return get(t, g.DeepCopy()) }, soon, tick).Should(BeNil())
	w.Expect(get(t, theirs.DeepCopy())).To(says("config", Equal(config)))
	w.Expect(secretOf(t, ns, d)()).NotTo(BeNil())
	// A status without a mark of the older controller is free after the older controller's Lease has expired.
	standsBack(t, leaving, "")
	expectVerdict(t, leaving, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")
}

// consenting creates a namespace with an Argo CD that accepts clusters from GitOpsClusters of other namespaces.
func consenting(t *testing.T) string {
	t.Helper()
	ns := namespace(t, unique("argo"))
	edit(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, func(n *corev1.Namespace) { n.Labels[apis.LabelArgoNamespace] = "true" })
	return ns
}

// TestGitOpsClusterWhoseAnnotationIsLost: the replacement of a whole GitOpsCluster loses the annotation with the
// namespaces of its Secrets. Towline deletes the Secrets all the same, also after a restart.
func TestGitOpsClusterWhoseAnnotationIsLost(t *testing.T) {
	for title, lose := range map[string]func(*testing.T, func(), *running){
		"while Towline runs": func(_ *testing.T, replace func(), _ *running) { replace() },
		"while it does not": func(t *testing.T, replace func(), tow *running) {
			tow.stop()
			replace()
			start(t)
		},
	} {
		t.Run(title, func(t *testing.T) {
			withPublishedCRD(t)
			tow := start(t)
			before, after, home := consenting(t), consenting(t), namespace(t, unique("team"))
			c := cluster(t)
			decide(t, home, c)
			g := gitOpsCluster(t, home, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = before })
			w := NewWithT(t)
			w.Eventually(secretOf(t, before, c), soon, tick).ShouldNot(BeNil())
			expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")
			lose(t, func() {
				edit(t, g, func(g *v1beta1.GitOpsCluster) {
					g.Annotations = nil
					g.Spec.ArgoServer.ArgoNamespace = after
				})
			}, tow)
			w.Eventually(secretOf(t, after, c), soon, tick).ShouldNot(BeNil())
			w.Eventually(secretOf(t, before, c), soon, tick).Should(BeNil())
			w.Eventually(func() string { return get(t, g.DeepCopy()).Annotations[apis.AnnotationArgoNamespaces] }, soon, tick).Should(Equal(after))
		})
	}
}

// TestGitOpsClusterThatChangesMeanwhile: while Towline removes one namespace from the annotation, a user adds a second
// namespace. Towline does not lose the second namespace: the Secret there is deleted too.
func TestGitOpsClusterThatChangesMeanwhile(t *testing.T) {
	tow := start(t)
	before, home, third := consenting(t), namespace(t, unique("team")), consenting(t)
	c := cluster(t)
	decide(t, home, c)
	g := gitOpsCluster(t, home, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = before })
	w := NewWithT(t)
	w.Eventually(secretOf(t, before, c), soon, tick).ShouldNot(BeNil())
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")
	stray := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: third, Name: clustersecret.Name(c.Name),
		Annotations: map[string]string{apis.AnnotationGitOpsClusters: home + "/fleet"},
		Labels:      map[string]string{apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelImported: "true", apis.LabelClusterName: c.Name},
	}, StringData: map[string]string{"name": c.Name}}
	create(t, stray)
	noted, same := make(chan struct{}), g.DeepCopy() // the test writes to g in parallel
	once := sync.OnceFunc(func() {
		edit(t, same, func(g *v1beta1.GitOpsCluster) { g.Annotations[apis.AnnotationArgoNamespaces] += "," + third })
		close(noted)
	})
	tow.writes.race(func(method, path string) {
		if method == http.MethodPatch && strings.HasSuffix(path, "/namespaces/"+home+"/gitopsclusters/fleet/status") {
			once()
		}
	})
	defer tow.writes.race(func(string, string) {})
	edit(t, g, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = home })
	w.Eventually(noted, soon).Should(BeClosed())
	w.Eventually(secretOf(t, before, c), soon, tick).Should(BeNil())
	w.Eventually(secretOf(t, third, c), soon, tick).Should(BeNil())
	w.Eventually(func() string { return get(t, g.DeepCopy()).Annotations[apis.AnnotationArgoNamespaces] }, soon, tick).Should(Equal(home))
}

package envtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// unlessPruned matches a field of the status that the published CRD does not have: under the published CRD, the field
// is empty.
func unlessPruned(m gomegatypes.GomegaMatcher) gomegatypes.GomegaMatcher {
	if *publishedCRDs {
		return BeZero()
	}
	return m
}

// withPublishedCRD makes the hub serve GitOpsClusters with the CRD of the older controllers until the test ends. This
// CRD prunes unknown fields. restore installs Towline's CRD again.
func withPublishedCRD(t *testing.T) (restore func()) {
	t.Helper()
	serve := gitOpsClusterCRD(t)
	serve(true)
	return func() { serve(*publishedCRDs) }
}

// gitOpsClusterCRD returns a function that installs the published CRD or Towline's CRD for GitOpsClusters, until the
// test ends.
func gitOpsClusterCRD(t *testing.T) (serve func(published bool)) {
	t.Helper()
	probe := gitOpsCluster(t, namespace(t, unique("argo")))
	return replacingCRD(t, "gitopsclusters", func() bool {
		now := get(t, probe.DeepCopy())
		before := now.DeepCopy()
		before.Status.Clusters, now.Status.Clusters = nil, ptr.To[int32](7)
		if err := k8s.Status().Patch(t.Context(), now, client.MergeFrom(before), client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return now.Status.Clusters == nil
	})
}

// clustersShown returns the gauge of a namespace's GitOpsClusters, or an empty string without a gauge.
func clustersShown(t *testing.T, ns string) string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			ofNamespace := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == ns })
			if family.GetName() == "towline_gitopscluster_clusters" && ofNamespace {
				return fmt.Sprint(m.GetGauge().GetValue())
			}
		}
	}
	return ""
}

// TestGitOpsClusterWhoseCRDIsReplaced: fields of the status that a CRD has pruned return under the next CRD, without a
// restart.
func TestGitOpsClusterWhoseCRDIsReplaced(t *testing.T) {
	restore := withPublishedCRD(t)
	start(t)
	ns := namespace(t, unique("argo"))
	a, b := cluster(t), cluster(t)
	decide(t, ns, a)
	g := gitOpsCluster(t, ns)
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster imported")
	w := NewWithT(t)
	w.Expect(get(t, g.DeepCopy()).Status.Clusters).To(BeNil())
	// Towline sets the gauge after the answer to the write of the status.
	w.Eventually(func() string { return clustersShown(t, ns) }, soon, tick).Should(Equal("1"))
	restore()
	decide(t, ns, a, b)
	w.Eventually(func() *int32 { return get(t, g.DeepCopy()).Status.Clusters }, soon, tick).Should(unlessPruned(HaveValue(BeEquivalentTo(2))))
	w.Expect(get(t, g.DeepCopy()).Status.ArgoNamespaces).To(unlessPruned(Equal([]string{ns})))
}

// TestGitOpsClusterWhoseCRDIsReplacedAtRest: without any further change, the status has all the fields that the CRD
// keeps, in either order of the two CRDs. The Secrets stay. A single event names the missing fields, and Towline does
// not repeat its writes.
func TestGitOpsClusterWhoseCRDIsReplacedAtRest(t *testing.T) {
	serve := gitOpsClusterCRD(t)
	serve(false)
	tow := start(t)
	ns := namespace(t, unique("argo"))
	c := cluster(t)
	chosen := []*clusterv1.ManagedCluster{c}
	decide(t, ns, c)
	g := gitOpsCluster(t, ns)
	w := NewWithT(t)
	status := func() v1beta1.GitOpsClusterStatus { return get(t, g.DeepCopy()).Status }
	whole := func() gomegatypes.GomegaMatcher {
		return And(HaveField("Clusters", HaveValue(BeEquivalentTo(len(chosen)))), HaveField("ArgoNamespaces", Equal([]string{ns})))
	}
	w.Eventually(status, soon, tick).Should(whole())
	secret := secretOf(t, ns, c)().UID
	writes := func() []string {
		return slices.DeleteFunc(tow.made(t), func(made string) bool { return !strings.Contains(made, "/"+ns+"/gitopsclusters/") })
	}
	tow.countAnew(t)
	serve(true)
	w.Eventually(func() []string { return eventReasons(t, g) }, soon, tick).Should(ContainElement(apis.ReasonStatusPruned))
	w.Expect(status()).To(And(HaveField("Clusters", BeNil()), HaveField("ArgoNamespaces", BeEmpty())))
	w.Expect(get(t, g.DeepCopy()).Annotations).To(HaveKeyWithValue(apis.AnnotationArgoNamespaces, ns))
	w.Expect(len(writes())).To(BeNumerically("<=", 1), "of a status that the CRD cuts")
	chosen = append(chosen, cluster(t))
	decide(t, ns, chosen...) // from now on the hub's etcd has only the cut status
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, fmt.Sprint(len(chosen), " clusters imported"))
	settle(t, tow, ns)
	tow.countAnew(t)
	serve(false)
	w.Eventually(status, soon, tick).Should(whole())
	w.Expect(writes()).To(HaveLen(1), "of a status that was cut")
	w.Expect(secretOf(t, ns, c)().UID).To(Equal(secret), "the Secret was made again")
}

// TestGitOpsClusterUnderThePublishedCRD: Towline remembers the pruned fields of the status, also over a restart. A
// withdrawn consent and a deletion both remove the Secrets, and Towline does not repeat its writes.
func TestGitOpsClusterUnderThePublishedCRD(t *testing.T) {
	withPublishedCRD(t)
	tow := start(t)
	ns, home := namespace(t, unique("argo")), namespace(t, unique("team"))
	consent := func(value string) {
		edit(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, func(n *corev1.Namespace) { n.Labels[apis.LabelArgoNamespace] = value })
	}
	consent("true")
	c := cluster(t)
	decide(t, home, c)
	g := gitOpsCluster(t, home, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = ns })
	w := NewWithT(t)
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())
	expectVerdict(t, g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "1 cluster")
	if now := get(t, g.DeepCopy()); len(now.Status.ArgoNamespaces) > 0 || now.Status.Clusters != nil {
		t.Fatalf("the CRD is another one: %v", now.Status)
	}
	w.Eventually(func() []string { return eventReasons(t, g) }, soon, tick).Should(ContainElement(apis.ReasonStatusPruned))
	settle(t, tow, home) // a watch restarts some time after the replacement of the CRD
	tow.countAnew(t)
	edit(t, c, withLabel("env", "prod"))
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(labelled("env", "prod"))
	for _, made := range tow.made(t) {
		if strings.Contains(made, "/gitopsclusters/") {
			t.Errorf("%s, and the status says that already", made)
		}
	}

	tow.stop()
	consent("false")
	start(t)
	w.Eventually(secretOf(t, ns, c), soon, tick).Should(BeNil())
	expectVerdict(t, g, apis.ConditionClustersImported, metav1.ConditionFalse, apis.ReasonArgoNamespaceNotAllowed, "")
	consent("true")
	w.Eventually(secretOf(t, ns, c), soon, tick).ShouldNot(BeNil())
	w.Expect(k8s.Delete(t.Context(), g.DeepCopy())).To(Succeed())
	w.Eventually(func() *v1beta1.GitOpsCluster { return get(t, g.DeepCopy()) }, soon, tick).Should(BeNil())
	w.Expect(secretOf(t, ns, c)()).To(BeNil())
	w.Expect(get(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ocm-placement-generator"}})).To(BeNil())
}

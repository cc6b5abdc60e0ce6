package controllers_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// unlessPruned matches a field of the status that the published CRD does not have: under that CRD it is empty.
func unlessPruned(m gomegatypes.GomegaMatcher) gomegatypes.GomegaMatcher {
	if *publishedCRDs {
		return BeZero()
	}
	return m
}

// withPublishedCRD has the hub serve GitOpsClusters by the CRD of the older controllers, until the test ends. It prunes what it does
// not know. It gives what serves them by Towline's again.
func withPublishedCRD(t *testing.T) (restore func()) {
	t.Helper()
	unshared(t)
	data, err := os.ReadFile("../pkg/apis/apps/testdata/published/gitopsclusters.crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	published, crd := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, published); err != nil {
		t.Fatal(err)
	}
	crd.Name = published.Name
	probe := gitOpsCluster(t, namespace(t, unique("argo")))
	prunes := func() bool {
		now := get(t, probe.DeepCopy())
		before := now.DeepCopy()
		before.Status.Clusters, now.Status.Clusters = nil, ptr.To[int32](7)
		if err := k8s.Status().Patch(t.Context(), now, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		return now.Status.Clusters == nil
	}
	serve := func(versions []apiextensionsv1.CustomResourceDefinitionVersion, pruning bool) {
		edit(t, crd, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = versions })
		NewWithT(t).Eventually(prunes, soon, tick).Should(Equal(pruning))
	}
	ours := get(t, crd).Spec.Versions
	serve(published.Spec.Versions, true)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
			t.Fatal(err)
		}
		live.Spec.Versions = ours
		if err := k8s.Update(ctx, live); err != nil {
			t.Fatal(err)
		}
	})
	return func() { serve(ours, *publishedCRDs) }
}

// clustersShown is the gauge of a namespace's GitOpsClusters; empty where there is none.
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

// TestGitOpsClusterWhoseCRDIsReplaced: what the status cannot keep under one CRD, it has again under the next, without a restart.
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
	w.Expect(clustersShown(t, ns)).To(Equal("1"))
	restore()
	decide(t, ns, a, b)
	w.Eventually(func() *int32 { return get(t, g.DeepCopy()).Status.Clusters }, soon, tick).Should(unlessPruned(HaveValue(BeEquivalentTo(2))))
	w.Expect(get(t, g.DeepCopy()).Status.ArgoNamespaces).To(unlessPruned(Equal([]string{ns})))
}

// TestGitOpsClusterUnderThePublishedCRD: what its status cannot keep is remembered all the same, over a restart too: a consent that
// is withdrawn and a deletion take the Secrets along, and nothing is written again and again.
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
	settle(t, tow, home) // a watch begins anew some time after the CRD was replaced
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

package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// imported returns a GitOpsCluster, and its cluster with a label for generators.
func imported(t *testing.T) (*v1beta1.GitOpsCluster, *clusterv1.ManagedCluster) {
	t.Helper()
	ns := namespace(t, unique("argo"))
	c := cluster(t, withLabel("env", "dev"))
	decide(t, ns, c)
	g := gitOpsCluster(t, ns)
	NewWithT(t).Eventually(secretOf(t, ns, c), soon, tick).Should(labelled("env", "dev"))
	return g, c
}

// expectKnown fails if the Secret of a cluster was changed or deleted.
func expectKnown(t *testing.T, g *v1beta1.GitOpsCluster, c *clusterv1.ManagedCluster) {
	t.Helper()
	settled(t)
	NewWithT(t).Expect(secretOf(t, g.Namespace, c)()).To(labelled("env", "dev"))
}

// TestAClusterThatIsNotChosenForAMoment: the Secret of a briefly dropped cluster stays unchanged, and the cluster's
// Applications stay too.
func TestAClusterThatIsNotChosenForAMoment(t *testing.T) {
	start(t, func(o *controllers.Options) { o.ClusterGrace = 0 })
	g, c := imported(t)
	decide(t, g.Namespace)
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonSelectionUnsettled, "for 1m0s")
	expectKnown(t, g, c)
	decide(t, g.Namespace, c)
	expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionTrue, apis.ReasonRemoved, "")
	expectKnown(t, g, c)
}

// TestNoClusterIsDroppedWithoutCandidates: a Placement without candidates, or before its first decision, drops no
// cluster.
func TestNoClusterIsDroppedWithoutCandidates(t *testing.T) {
	start(t)
	for title, lose := range map[string]func(*testing.T, string){
		"a binding, or its set": func(t *testing.T, ns string) {
			decideNames(t, ns)
			satisfied(t, ns, 0, metav1.ConditionFalse, "NoManagedClusterSetBindings")
		},
		"the binding of its sets": func(t *testing.T, ns string) {
			decideNames(t, ns)
			satisfied(t, ns, 0, metav1.ConditionFalse, "NoIntersection")
		},
		"the status, which no backup has": func(t *testing.T, ns string) {
			all := client.ObjectKey{Namespace: ns, Name: "all"}
			p, d := &clusterv1beta1.Placement{}, &clusterv1beta1.PlacementDecision{}
			p.Namespace, p.Name = all.Namespace, all.Name
			d.Namespace, d.Name, d.Labels = all.Namespace, "all-decision-1", map[string]string{clusterv1beta1.PlacementLabel: all.Name}
			end(t, d.DeepCopy())
			end(t, p.DeepCopy())
			create(t, p)
			create(t, d)
		},
	} {
		t.Run(title, func(t *testing.T) {
			g, c := imported(t)
			lose(t, g.Namespace)
			expectVerdict(t, g, apis.ConditionClustersRemoved, metav1.ConditionFalse, apis.ReasonSelectionUnsettled, "")
			expectKnown(t, g, c)
		})
	}
}

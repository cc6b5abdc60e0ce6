package envtest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// TestGitOpsClusterDecidesTwice: a Secret stays if a reason to keep the Secret appears between the first decision and
// the deletion.
func TestGitOpsClusterDecidesTwice(t *testing.T) {
	tow := start(t)
	type situation struct {
		ns, home string
		c        *clusterv1.ManagedCluster
		g        *v1beta1.GitOpsCluster
	}
	consent := func(t *testing.T, s situation, value string) {
		edit(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, func(n *corev1.Namespace) { n.Labels[apis.LabelArgoNamespace] = value })
	}
	passOver := func(t *testing.T, s situation) { decide(t, s.home) }
	for title, tc := range map[string]struct {
		lose, meanwhile func(*testing.T, situation)
		condition       string
		reason          string
	}{
		"chosen again": {passOver, func(t *testing.T, s situation) { decide(t, s.home, s.c) }, apis.ConditionClustersRemoved, apis.ReasonRemoved},
		"an Application comes": {passOver, func(t *testing.T, s situation) { create(t, application(t, s.c).Obj()) },
			apis.ConditionClustersRemoved, apis.ReasonApplicationsRemain},
		"the consent is back": {
			func(t *testing.T, s situation) { consent(t, s, "false") }, func(t *testing.T, s situation) { consent(t, s, "true") },
			apis.ConditionClustersImported, apis.ReasonImported},
	} {
		t.Run(title, func(t *testing.T) {
			s := situation{ns: namespace(t, unique("argo")), home: namespace(t, unique("team")), c: cluster(t, withLabel("env", "dev"))}
			consent(t, s, "true")
			decide(t, s.home, s.c)
			s.g = gitOpsCluster(t, s.home, func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = s.ns })
			w := NewWithT(t)
			w.Eventually(secretOf(t, s.ns, s.c), soon, tick).Should(labelled("env", "dev"))
			expectVerdict(t, s.g, apis.ConditionReady, metav1.ConditionTrue, apis.ReasonImported, "")
			uid := secretOf(t, s.ns, s.c)().UID
			asked := make(chan struct{})
			once := sync.OnceFunc(func() {
				tc.meanwhile(t, s)
				close(asked)
			})
			tow.writes.race(func(method, path string) {
				if method == http.MethodGet && strings.HasSuffix(path, "/namespaces/"+s.home+"/gitopsclusters/fleet") {
					once()
				}
			})
			defer tow.writes.race(func(string, string) {})
			tc.lose(t, s)
			w.Eventually(asked, soon).Should(BeClosed())
			w.Eventually(func() string {
				c := meta.FindStatusCondition(get(t, s.g.DeepCopy()).Status.Conditions, tc.condition)
				return c.Reason
			}, soon, tick).Should(Equal(tc.reason))
			settled(t)
			w.Expect(secretOf(t, s.ns, s.c)()).To(HaveField("UID", uid))
		})
	}
}

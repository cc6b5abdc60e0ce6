package envtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// setFollowing creates an ApplicationSet with a generator for the Placement.
func setFollowing(t *testing.T, ns, placement string) *unstructured.Unstructured {
	t.Helper()
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"generators": []any{map[string]any{
		"clusterDecisionResource": map[string]any{"configMapRef": "acm-placement", "labelSelector": map[string]any{
			"matchLabels": map[string]any{"cluster.open-cluster-management.io/placement": placement}}},
	}}}}}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	set.SetNamespace(ns)
	set.SetName(unique("set"))
	create(t, set)
	return set
}

// looks removes the refresh request in the role of Argo CD, and returns whether a request was present.
func looks(t *testing.T, set *unstructured.Unstructured) func() bool {
	return func() bool {
		now := get(t, set.DeepCopy())
		if now.GetAnnotations()[apis.AnnotationSetRefresh] != "true" {
			return false
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationSetRefresh)
		if err := k8s.Patch(t.Context(), now, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		return true
	}
}

// TestApplicationSetsFollowDecisionsAtOnce: only the ApplicationSets of the Placement get a refresh request: one for a
// burst and one more afterwards, and only if the set of clusters has changed.
func TestApplicationSetsFollowDecisionsAtOnce(t *testing.T) {
	ns, elsewhere := namespace(t, unique("argo")), namespace(t, unique("argo"))
	a, b := cluster(t), cluster(t)
	decide(t, ns, a)
	follows, other, far := setFollowing(t, ns, "all"), setFollowing(t, ns, "other"), setFollowing(t, elsewhere, "all")
	tow := start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Decisions} })
	asked := func() int {
		n := 0
		for _, w := range tow.writes.take() {
			if strings.HasPrefix(w, http.MethodPatch) && strings.Contains(w, "/applicationsets/") {
				n++
			}
		}
		return n
	}
	w := NewWithT(t)
	w.Consistently(looks(t, follows), 10*tick, tick).Should(BeFalse(), "nothing has changed since before the start")

	began := time.Now()
	decide(t, ns, a, b)
	decide(t, ns, b)
	decide(t, ns, a, b)
	took := time.Since(began)
	w.Eventually(looks(t, follows), soon, tick).Should(BeTrue())
	w.Eventually(looks(t, follows), soon, tick).Should(BeTrue(), "once more: a cluster may not have had its Secret")
	if n := asked(); n != 2 && took < 500*time.Millisecond || n < 2 {
		t.Errorf("asked %d times for one burst of %s", n, took)
	}
	if took >= 500*time.Millisecond {
		return // a slow machine has split the burst in two
	}
	count(t, ns, 2) // changes only the Placement's status
	w.Consistently(looks(t, follows), 1500*time.Millisecond, tick).Should(BeFalse())
	for _, set := range []*unstructured.Unstructured{other, far} {
		w.Expect(get(t, set.DeepCopy()).GetResourceVersion()).To(Equal(set.GetResourceVersion()))
	}
}

// TestAnOutageRefreshesNoApplicationSet: if a Placement only loses clusters, among them an unresponsive cluster,
// ApplicationSets get no refresh request. A replacement cluster leads to a request at once.
func TestAnOutageRefreshesNoApplicationSet(t *testing.T) {
	ns := namespace(t, unique("argo"))
	a, b, c := cluster(t), cluster(t), cluster(t)
	decide(t, ns, a, b)
	follows := setFollowing(t, ns, "all")
	start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Decisions} })
	w := NewWithT(t)
	availability(t, a, metav1.ConditionUnknown, "no lease")
	availability(t, b, metav1.ConditionTrue, "")
	decide(t, ns, b)
	w.Consistently(looks(t, follows), 1500*time.Millisecond, tick).Should(BeFalse(), "the cluster may be back before anybody looks")
	decide(t, ns, b, c)
	w.Eventually(looks(t, follows), soon, tick).Should(BeTrue(), "another one is chosen")
	w.Eventually(looks(t, follows), soon, tick).Should(BeTrue(), "once more")
	decide(t, ns, c)
	w.Eventually(looks(t, follows), soon, tick).Should(BeTrue(), "one that responds is chosen no more")
}

// TestTowlineMayOnlyRefreshApplicationSets: Towline may only request a refresh.
func TestTowlineMayOnlyRefreshApplicationSets(t *testing.T) {
	applyPolicy(t, "applicationsets.yaml")
	set := setFollowing(t, namespace(t, unique("argo")), "all")
	towline := asTowline(t, "argocd", "towline-controller")
	change := func(patch string) error {
		return towline.Patch(t.Context(), set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	w := NewWithT(t)
	for title, tc := range map[string]struct{ patch, denied string }{
		"the spec":            {`{"spec":{"goTemplate":true}}`, "does not change the spec"},
		"another annotation":  {`{"metadata":{"annotations":{"x":"y"}}}`, "Towline sets only the request for a refresh"},
		"a label":             {`{"metadata":{"labels":{"x":"y"}}}`, "does not change labels"},
		"a finalizer":         {`{"metadata":{"finalizers":["example.com/x"]}}`, "does not change labels, finalizers"},
		"another word for it": {`{"metadata":{"annotations":{"` + apis.AnnotationSetRefresh + `":"x"}}}`, "Towline sets only the request for a refresh"},
	} {
		w.Eventually(func() error { return change(tc.patch) }, soon, tick).Should(MatchError(ContainSubstring(tc.denied)), title)
	}
	w.Expect(change(`{"metadata":{"annotations":{"` + apis.AnnotationSetRefresh + `":"true"}}}`)).To(Succeed())
}

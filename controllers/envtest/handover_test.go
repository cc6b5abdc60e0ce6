package envtest_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// pushedNow changes an Application so that the hub's own Argo CD deploys the Application to its cluster.
func pushedNow(t *testing.T, a *argocd.Application) {
	t.Helper()
	var spec map[string]any
	if err := json.Unmarshal(a.Spec.Raw, &spec); err != nil {
		t.Fatal(err)
	}
	spec["destination"] = map[string]any{"name": a.Cluster(), "namespace": "web"}
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	a.Spec.Raw = raw
	delete(a.Labels, apis.LabelPull)
	delete(a.Annotations, apis.AnnotationSkipReconcile)
	delete(a.Annotations, apis.AnnotationCluster)
}

// TestHandOver: an Application that moves to the hub's own Argo CD leaves its cluster. The workload and the
// dependencies stay.
func TestHandOver(t *testing.T) {
	start(t)
	app, keys := beside(t)
	before := app.DeepCopy()
	seen(t, workOf(t, app))
	edit(t, app, func(a *argocd.Application) { pushedNow(t, a) })
	g := NewWithT(t)
	g.Eventually(func() bool { w := workOf(t, before); return w != nil && work.HandedOver(w) }, soon, tick).Should(BeTrue())
	own := workOf(t, before)
	held, _ := work.Carried(own)
	g.Expect(held.Finalizers).To(BeEmpty(), "the workload would go")
	g.Expect(own.Spec.DeleteOption).To(BeNil(), "the Application would stay")
	expectNotice(t, app, apis.ConditionReleaseWarning, "being handed over to the hub's own Argo CD: waiting for cluster "+own.Namespace)
	for _, key := range keys {
		expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
			stays(g, w)
			g.Expect(dependency.ReleasedTo(w)).To(ConsistOf(client.ObjectKeyFromObject(app)))
		})
	}
	applied(t, own)
	settledBeside(t)
	g.Expect(workOf(t, before)).NotTo(BeNil(), "the cluster has not released the dependencies")
	for _, key := range keys {
		answer(t, key, metav1.ConditionTrue, "")
	}
	g.Eventually(func() bool { return !workOf(t, before).DeletionTimestamp.IsZero() }, soon, tick).Should(BeTrue())
	release(t, workOf(t, before))
	expectNoWork(t, before)
	for _, key := range keys {
		expectNoDependency(t, key)
	}
	expectToldOnce(t, app, apis.ReasonReleased)
	g.Eventually(func() []argocd.Condition { return get(t, app.DeepCopy()).Status.Conditions }, soon, tick).Should(BeEmpty())
	g.Expect(get(t, app.DeepCopy()).Finalizers).To(ConsistOf(apis.FinalizerResources), "the hub's own Argo CD needs it")
}

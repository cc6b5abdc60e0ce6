package envtest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// decided creates a PlacementDecision of a Placement with the clusters.
func decided(t *testing.T, namespace, placement, name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{clusterv1beta1.PlacementLabel: placement}}}
	create(t, d)
	choose(t, d, clusters...)
	return d
}

// expectCluster waits until the Application names the cluster.
func expectCluster(t *testing.T, app *argocd.Application, cluster string) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return get(t, app).Cluster() }, soon, tick).Should(Equal(cluster))
}

// expectPlacement waits until the Application's PlacementWarning contains the text. Empty: until the condition is
// absent.
func expectPlacement(t *testing.T, app *argocd.Application, says string) {
	t.Helper()
	match := ContainSubstring(says)
	if says == "" {
		match = BeEmpty()
	}
	NewWithT(t).Eventually(func() string {
		message, _ := condition(t, app, apis.ConditionPlacementWarning)
		return message
	}, soon, tick).Should(match)
}

// expectStay waits until an Application that briefly named a second cluster has no work on the second cluster, and no
// MoveWarning. The move may have begun before the correction of the annotation, and takes some writes to go back.
func expectStay(t *testing.T, app *argocd.Application, from string) {
	t.Helper()
	there := app.DeepCopy()
	there.Annotations = map[string]string{apis.AnnotationCluster: from}
	NewWithT(t).Eventually(func() bool {
		_, moves := condition(t, app, apis.ConditionMoveWarning)
		return moves || workOf(t, there) != nil
	}, soon, tick).Should(BeFalse(), "it is on its way still")
}

// following creates an Application with the Placement "best" and without a cluster.
func following(t *testing.T, namespace string) *argocd.Application {
	t.Helper()
	app := application(t, cluster(t)).Namespace(namespace).Annotation(apis.AnnotationPlacement, "best").Obj()
	delete(app.Annotations, apis.AnnotationCluster)
	create(t, app)
	return app
}

// TestPlacementIsFollowed: the Application follows its Placement to the first cluster and to the next, and Towline
// reverts a foreign change. A second Placement, or a Placement in a second namespace, has no effect.
func TestPlacementIsFollowed(t *testing.T) {
	towline := start(t)
	ns, a, b := namespace(t, unique("apps")), cluster(t), cluster(t)
	decided(t, namespace(t, unique("others")), "best", "d", b.Name)
	decided(t, ns, "other", "other", b.Name)
	app := following(t, ns)
	expectPlacement(t, app, "has chosen no cluster")
	expectProblem(t, app, apis.ReasonClusterAnnotationMissing, "has not chosen a cluster yet")

	d := decided(t, ns, "best", "d", a.Name)
	expectCluster(t, app, a.Name)
	expectPlacement(t, app, "")
	expectWork(t, app)
	edit(t, app, func(app *argocd.Application) { app.Annotations[apis.AnnotationCluster] = b.Name })
	expectCluster(t, app, a.Name)

	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	expectSettled(t, app)
	expectStay(t, app, b.Name)
	settle(t, towline, ns) // no writes at rest

	first := expectWork(t, app)
	choose(t, d, b.Name)
	expectCluster(t, app, b.Name)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return workOf(t, get(t, app)) }, soon, tick).
		Should(HaveValue(HaveField("Namespace", b.Name)))
	if w := get(t, first); w == nil || !w.DeletionTimestamp.IsZero() {
		t.Error("the first cluster lost it before the second had it")
	}
}

// TestPlacementThatDoesNotDecide: without a decision, the Application keeps its cluster.
func TestPlacementThatDoesNotDecide(t *testing.T) {
	start(t)
	ns, a, b := namespace(t, unique("apps")), cluster(t), cluster(t)
	d := decided(t, ns, "best", "d", a.Name)
	app := following(t, ns)
	expectCluster(t, app, a.Name)
	w := expectWork(t, app)
	stays := func(says string) {
		t.Helper()
		expectPlacement(t, app, says)
		if now := workOf(t, get(t, app)); now == nil || now.UID != w.UID {
			t.Errorf("its work did not stay: %v", now)
		}
	}
	choose(t, d)
	stays("stays on cluster " + a.Name)
	choose(t, d, a.Name, b.Name)
	stays("numberOfClusters to 1")
	choose(t, d, a.Name)
	stays("")
	more := decided(t, ns, "best", "d-2", b.Name)
	stays("2 clusters")
	discard(t, []client.Object{more})
	stays("")
	discard(t, []client.Object{d})
	stays("or does not exist")
	edit(t, app, func(app *argocd.Application) { delete(app.Annotations, apis.AnnotationPlacement) })
	stays("")
}

// TestPlacementOfAnApplicationSet: the ApplicationSet controller would revert Towline's annotation. Towline therefore
// writes nothing, and the Application shows the reason.
func TestPlacementOfAnApplicationSet(t *testing.T) {
	start(t)
	ns, a := namespace(t, unique("apps")), cluster(t)
	decided(t, ns, "best", "d", a.Name)
	app := application(t, cluster(t)).Namespace(ns).ApplicationSet("set").Annotation(apis.AnnotationPlacement, "best").Obj()
	create(t, app)
	expectPlacement(t, app, "ApplicationSet set")
	settled(t)
	if got := get(t, app).Cluster(); got != app.Cluster() {
		t.Errorf("it goes to %s", got)
	}
}

// TestPlacementThatAnotherClientUndoes: Towline repairs the annotation a few times, and then stops with a condition.
func TestPlacementThatAnotherClientUndoes(t *testing.T) {
	towline := start(t)
	ns, a, b := namespace(t, unique("apps")), cluster(t), cluster(t)
	decided(t, ns, "best", "d", a.Name)
	app := following(t, ns)
	expectCluster(t, app, a.Name)
	undo := func() {
		edit(t, app, func(app *argocd.Application) { app.Annotations[apis.AnnotationCluster] = b.Name })
	}
	for range 3 {
		undo()
		expectCluster(t, app, a.Name)
	}
	undo()
	expectPlacement(t, app, "another client keeps changing the annotation")
	towline.countAnew(t)
	settled(t)
	if got := get(t, app).Cluster(); got != b.Name {
		t.Errorf("it goes to %s", got)
	}
	for _, write := range towline.made(t) {
		if strings.Contains(write, "/namespaces/"+ns+"/applications/") {
			t.Errorf("written while it is held: %s", write)
		}
	}
	edit(t, app, func(app *argocd.Application) { delete(app.Annotations, apis.AnnotationPlacement) })
	expectPlacement(t, app, "")
}

// TestPlacementWithoutThePullLabel: the warning ends when the pull label is false or removed, and returns when an
// ApplicationSet takes the Application over.
func TestPlacementWithoutThePullLabel(t *testing.T) {
	start(t)
	ns, a := namespace(t, unique("apps")), cluster(t)
	decided(t, ns, "other", "d", a.Name)
	app := following(t, ns)
	for title, label := range map[string]func(map[string]string){
		"false": func(l map[string]string) { l[apis.LabelPull] = "false" }, "none": func(l map[string]string) { delete(l, apis.LabelPull) },
	} {
		t.Run(title, func(t *testing.T) {
			expectPlacement(t, app, "has chosen no cluster")
			edit(t, app, func(app *argocd.Application) { label(app.Labels) })
			expectPlacement(t, app, "")
			edit(t, app, func(app *argocd.Application) { app.Labels = map[string]string{apis.LabelPull: "true"} })
		})
	}
	expectPlacement(t, app, "has chosen no cluster")
	edit(t, app, func(app *argocd.Application) {
		app.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", UID: "0", Controller: ptr.To(true)}}
	})
	expectPlacement(t, app, "ApplicationSet set")
}

// TestPlacementUnderTheAdmissionPolicies: Towline's token may set the cluster only on Applications with a Placement.
func TestPlacementUnderTheAdmissionPolicies(t *testing.T) {
	applyPolicy(t, "applications.yaml")
	towline, ns := asTowline(t, "argocd", "towline-controller"), namespace(t, unique("apps"))
	name := func(app *argocd.Application, annotations string) error {
		return towline.Patch(t.Context(), app.DeepCopy(), client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":`+annotations+`}}`)), client.DryRunAll)
	}
	const another = `{"apps.open-cluster-management.io/ocm-managed-cluster":"b"}`
	fixed, follows := makeApplication(t, ns), makeApplication(t, ns)
	edit(t, follows, func(app *argocd.Application) { app.Annotations = map[string]string{apis.AnnotationPlacement: "best"} })
	g := NewWithT(t)
	g.Eventually(func() error { return name(fixed, another) }, soon, tick).Should(MatchError(ContainSubstring("follows a Placement")))
	g.Expect(name(follows, another)).To(Succeed())
	for _, refused := range []string{
		`{"apps.open-cluster-management.io/placement":"other"}`,
		`{"apps.open-cluster-management.io/placement":null}`,
		`{"apps.open-cluster-management.io/adopt":"always"}`,
	} {
		g.Expect(name(follows, refused)).To(MatchError(ContainSubstring("of an Application's annotations")), refused)
	}
	g.Expect(name(fixed, `{"apps.open-cluster-management.io/placement":"best","apps.open-cluster-management.io/ocm-managed-cluster":"b"}`)).
		To(MatchError(ContainSubstring("of an Application's annotations")))
}

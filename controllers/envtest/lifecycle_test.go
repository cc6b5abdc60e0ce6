package envtest_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// agentFinalizer is the work agent's finalizer on a work. The agent removes the finalizer after the cluster has removed
// all objects of the work.
const agentFinalizer = workv1.ManifestWorkFinalizer

func TestDeletionWaitsForTheCluster(t *testing.T) {
	start(t)
	for _, finalizer := range []string{
		apis.FinalizerResources, apis.FinalizerResources + "/background", apis.FinalizerResources + "/foreground",
	} {
		t.Run(finalizer, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(finalizer).Obj()
			create(t, app)
			w := expectWork(t, app)
			seen(t, w)

			remove(t, app)
			g := NewWithT(t)
			g.Eventually(func() bool { return !workOf(t, app).DeletionTimestamp.IsZero() }, soon, tick).Should(BeTrue())
			g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonWorkDeleted))
			if got := get(t, app.DeepCopy()); got == nil || len(got.Finalizers) != 1 {
				t.Fatal("the hub says gone while the cluster still has the Application")
			}
			release(t, w)
			expectGone(t, app)
		})
	}
}

func TestDeletionLeavesFinalizersOfOthers(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources, "example.com/mine").Obj()
	create(t, app)
	expectWork(t, app)
	remove(t, app)
	expectNoWork(t, app)
	NewWithT(t).Eventually(func() []string { return get(t, app).Finalizers }, soon, tick).Should(Equal([]string{"example.com/mine"}))
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
	expectGone(t, app)
}

func TestDeletionOfAnApplicationThatWasNeverSent(t *testing.T) {
	start(t)
	target := cluster(t)
	for title, cluster := range map[string]string{"no such cluster": "nowhere", "none named": "", "impossible name": "A/B"} {
		t.Run(title, func(t *testing.T) {
			app := application(t, target).Cluster(cluster).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			expectProblem(t, app, map[string]string{
				"nowhere": apis.ReasonClusterNotFound, "": apis.ReasonClusterAnnotationMissing, "A/B": apis.ReasonClusterNameInvalid,
			}[cluster], "")
			remove(t, app)
			expectGone(t, app)
		})
	}
}

// TestDeletionWhileTheClustersNamespaceGoes: Towline waits for a delivered Application, and does not wait for an
// Application without a work.
func TestDeletionWhileTheClustersNamespaceGoes(t *testing.T) {
	start(t)
	c := cluster(t)
	sent := application(t, c).Finalizers(apis.FinalizerResources, apis.FinalizerPostDelete, apis.FinalizerPostDelete+"/cleanup").Obj()
	create(t, sent)
	w := expectWork(t, sent)
	seen(t, w)
	if err := k8s.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}); err != nil {
		t.Fatal(err)
	}
	unsent := application(t, c).Finalizers(apis.FinalizerResources).Obj()
	create(t, unsent)
	expectProblem(t, unsent, apis.ReasonClusterNamespaceMissing, "missing or being deleted")
	remove(t, unsent)
	expectGone(t, unsent)

	remove(t, sent)
	expectNotice(t, sent, apis.ConditionDeletionWarning, "waiting for cluster "+c.Name)
	if got := get(t, sent.DeepCopy()); got == nil || len(got.Finalizers) != 3 {
		t.Fatal("the hub says gone while the cluster still has the Application")
	}
	release(t, w)
	expectGone(t, sent)
}

func TestDeletionWithoutFinalizer(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectWork(t, app)
	remove(t, app)
	expectNoWork(t, app)
}

func TestDeletionWhileTowlineIsDown(t *testing.T) {
	for title, finalizers := range map[string][]string{"without finalizer": nil, "with it": {apis.FinalizerResources}} {
		t.Run(title, func(t *testing.T) {
			towline := start(t)
			app := application(t, cluster(t)).Finalizers(finalizers...).Obj()
			create(t, app)
			expectWork(t, app)
			other := application(t, cluster(t)).Obj()
			create(t, other)
			kept := expectWork(t, other)
			towline.stop()
			remove(t, app)
			start(t, hasty)
			expectNoWork(t, app)
			expectGone(t, app)
			if got := get(t, kept.DeepCopy()); got == nil || got.UID != kept.UID {
				t.Error("the work of another Application went")
			}
		})
	}
}

// TestMove: the new cluster gets the Application before the old cluster loses it.
func TestMove(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	app := application(t, from).Obj()
	create(t, app)
	old := expectWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	w := expectWork(t, app)
	if w.Namespace != to.Name {
		t.Fatalf("the work is in %s", w.Namespace)
	}
	if got := get(t, old.DeepCopy()); got == nil {
		t.Fatal("the old cluster lost the Application before the new one had it")
	}
	applied(t, w)
	expectNotice(t, app, apis.ConditionMoveWarning, "cluster "+from.Name+" keeps the Application until the new cluster's copy is healthy")
	if got := get(t, old.DeepCopy()); got == nil {
		t.Fatal("the old cluster lost the Application before it was healthy on the new one")
	}
	report(t, app, feedbackOf(app).Healthy("a"))
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, old.DeepCopy()) }, soon, tick).Should(BeNil())
	expectNoNotice(t, app, apis.ConditionMoveWarning)
}

// TestMoveBack: a move that is taken back half-way ends on the old cluster, with a single work.
func TestMoveBack(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	app := application(t, from).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	old := workOf(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	half := expectWork(t, app)
	applied(t, half)
	expectNotice(t, app, apis.ConditionMoveWarning, from.Name)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = from.Name })
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, half.DeepCopy()) }, soon, tick).Should(BeNil())
	expectNoNotice(t, app, apis.ConditionMoveWarning)
	if got := expectWork(t, app); got.UID != old.UID {
		t.Error("it is not the work that was there")
	}
}

// TestMoveThatNeverGetsHealthy: the move of an unhealthy Application ends after the timeout.
func TestMoveThatNeverGetsHealthy(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Move.Timeout = time.Second })
	app := application(t, cluster(t)).Obj()
	create(t, app)
	old := expectWork(t, app)
	to := cluster(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectWork(t, app)
	report(t, app, feedbackOf(app).String("healthStatus", "Degraded"))
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, old.DeepCopy()) }, soon, tick).Should(BeNil())
}

// deployed creates a healthy Application with Argo CD's finalizer, applied on its cluster.
func deployed(t *testing.T) *argocd.Application {
	t.Helper()
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	report(t, app, feedbackOf(app).Healthy("a"))
	return app
}

// relocating creates a delivered Application whose namespace on the cluster is about to change. The move waits until
// the work no longer destroys the workload.
func relocating(t *testing.T) *argocd.Application {
	t.Helper()
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	expectStaying(t, app, app.Namespace)
	return app
}

// expectStaying waits until the work contains the Application in the namespace without finalizers, so that the deletion
// of the Application keeps the workload.
func expectStaying(t *testing.T, app *argocd.Application, namespace string) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func(g Gomega) {
		w = workOf(t, app)
		held, ok := work.Carried(w)
		g.Expect(ok).To(BeTrue(), "the work carries no Application")
		g.Expect(held.Namespace).To(Equal(namespace))
		g.Expect(held.Finalizers).To(BeEmpty())
	}, soon, tick).Should(Succeed())
	return w
}

// TestChangeOfNamespace: the Application in the old namespace loses its finalizers before its deletion,
// because its workload belongs to the next Application.
func TestChangeOfNamespace(t *testing.T) {
	start(t)
	app := deployed(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	w := expectStaying(t, app, app.Namespace)
	expectNotice(t, app, apis.ConditionMoveWarning, "moving to namespace elsewhere")
	settled(t)
	if got := workOf(t, app); got.Generation != w.Generation {
		t.Fatal("it went on before the cluster had heard")
	}
	applied(t, w)
	if held, _ := work.Carried(expectWork(t, app)); held.Namespace != "elsewhere" || len(held.Finalizers) != 1 {
		t.Errorf("the work carries %s with %v", held.Namespace, held.Finalizers)
	}
	expectNoNotice(t, app, apis.ConditionMoveWarning)
}

// TestChangeOfNamespaceOfAnUnlabelledWork: Towline finds a work without its label only by name, and moves the work
// like any other.
func TestChangeOfNamespaceOfAnUnlabelledWork(t *testing.T) {
	for title, adopt := range map[string]string{"as asked": apis.AdoptMatching, "one that may not take over": apis.AdoptNever} {
		t.Run(title, func(t *testing.T) {
			towline := start(t)
			app := deployed(t)
			towline.stop()
			edit(t, workOf(t, app), func(w *workv1.ManifestWork) {
				delete(w.Labels, apis.LabelPull)
				w.Spec.ManifestConfigs[0].UpdateStrategy = nil // as older controllers create works
			})
			edit(t, app, func(a *argocd.Application) {
				a.Annotations[apis.AnnotationAppNamespace], a.Annotations[apis.AnnotationAdopt] = "elsewhere", adopt
			})
			start(t)
			expectStaying(t, app, app.Namespace)
			applied(t, workOf(t, app))
			if held, _ := work.Carried(expectWork(t, app)); held.Namespace != "elsewhere" {
				t.Errorf("the work carries it to %s", held.Namespace)
			}
		})
	}
}

// TestChangeOfNamespaceTakenBack: a change of the namespace that is taken back has no effect.
func TestChangeOfNamespaceTakenBack(t *testing.T) {
	start(t)
	app := relocating(t)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationAppNamespace) })
	expectWork(t, app)
	expectNoNotice(t, app, apis.ConditionMoveWarning)
}

// TestChangeOfNamespaceDuringARequest: the move waits for the agent's answer to the request. The Application in the new
// namespace does not know the old Application's operation, and the operation ends with the old Application.
func TestChangeOfNamespaceDuringARequest(t *testing.T) {
	start(t)
	app := deployed(t)
	expectHealth(t, app, "Healthy")
	request(t, app, `{"sync":{}}`)
	id := sentOperation(t, app, "")
	there := app.DeepCopy()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	settled(t)
	if carried(t, app) == "" {
		t.Fatal("the request was taken back")
	}
	later := operationReport(there, "Running", id).String("operationStateStartedAt", "2026-01-02T03:05:05Z")
	reportHeld(t, app, later.String("resourceVersion", "2"))
	applied(t, expectStaying(t, app, app.Namespace))

	g := NewWithT(t)
	g.Eventually(func() bool { return work.CarriesTo(workOf(t, app), clusterKey(app)) }, soon, tick).Should(BeTrue())
	reportHeld(t, app, feedbackOf(app).String("resourceVersion", "7"))
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue(), "the hub's operation stays for good")
	expectWork(t, app)
}

// clusterKey returns the namespace and name of the Application on its cluster.
func clusterKey(app *argocd.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
}

// TestRecreatedDuringTheDeletion: a new work in parallel to a deleted work could lose its applied objects to the
// deletion.
func TestRecreatedDuringTheDeletion(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	old := expectWork(t, app)
	seen(t, old)
	again := app.DeepCopy()
	again.ObjectMeta = metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name, Labels: app.Labels, Annotations: app.Annotations}
	remove(t, app)
	applied(t, expectAsking(t, old))
	expectDeleting(t, old)
	create(t, again)
	expectNotice(t, again, apis.ConditionMoveWarning, old.Name)
	if workOf(t, again) != nil {
		t.Fatal("it was sent beside the one that is going")
	}
	release(t, old)
	expectWork(t, again)
	expectNoNotice(t, again, apis.ConditionMoveWarning)
}

// TestDeletionDuringAChangeOfNamespace: the workload is deleted with the Application, as the finalizer requests.
func TestDeletionDuringAChangeOfNamespace(t *testing.T) {
	start(t)
	app := relocating(t)
	remove(t, app)
	g := NewWithT(t)
	var w *workv1.ManifestWork
	g.Eventually(func() []string {
		w = workOf(t, app)
		held, _ := work.Carried(w)
		return held.Finalizers
	}, soon, tick).Should(Equal([]string{apis.FinalizerResources}))
	if !w.DeletionTimestamp.IsZero() {
		t.Fatal("it goes before the cluster has heard that what it deployed is to go")
	}
	applied(t, w)
	g.Eventually(func() bool { return !workOf(t, app).DeletionTimestamp.IsZero() }, soon, tick).Should(BeTrue())
	release(t, workOf(t, app))
	expectGone(t, app)
}

// TestAPayloadThatTheClusterChanged: Towline repairs the payload, and does not treat the change as a change of
// namespace.
func TestAPayloadThatTheClusterChanged(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	seen(t, expectWork(t, app))
	for _, key := range []string{`"name":"victim","namespace":"` + app.Namespace + `"`, `"name":"` + app.Name + `","namespace":"elsewhere"`} {
		edit(t, expectWork(t, app), func(w *workv1.ManifestWork) {
			w.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{` + key + `},"spec":{}}`)
		})
		expectWork(t, app)
	}
}

// TestChangeOfNamespaceBeforeTheAgentHasSeenTheWork: a work that no agent has seen can move at once.
func TestChangeOfNamespaceBeforeTheAgentHasSeenTheWork(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	expectWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	expectWork(t, app)
}

// TestChangeOfNamespaceOfARecreatedWork: the cluster may still have the Application of the previous work.
func TestChangeOfNamespaceOfARecreatedWork(t *testing.T) {
	start(t)
	app := madeAnew(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	w := expectStaying(t, app, app.Namespace)
	seen(t, w)
	agentSays(t, w, agentOf(t, w).String("workOwner", owner(w)))
	expectClaim(t, app, work.ForceApply)
	applied(t, expectStaying(t, app, app.Namespace))
	expectWork(t, app)
}

// TestChangeOfNamespaceRefused: the condition quotes the cluster's reason for the refusal.
func TestChangeOfNamespaceRefused(t *testing.T) {
	start(t)
	app := deployed(t)
	there := app.DeepCopy()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	w := expectStaying(t, app, app.Namespace)
	reportHeld(t, app, feedbackOf(there).Condition(workv1.WorkApplied, metav1.ConditionFalse, "no rights"))
	expectNotice(t, app, apis.ConditionMoveWarning, "refuses the change: no rights")
	if got := workOf(t, app); got.Generation != w.Generation {
		t.Error("it went on")
	}
}

// TestMoveOldFirst: the old cluster removes an Application that must not run twice before the new cluster gets it.
func TestMoveOldFirst(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	app := application(t, from).Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Obj()
	create(t, app)
	old := expectWork(t, app)
	seen(t, old)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectNotice(t, app, apis.ConditionMoveWarning, "after cluster "+from.Name+" has removed its copy")
	settled(t)
	if workOf(t, app) != nil {
		t.Fatal("it runs twice")
	}
	applied(t, expectAsking(t, old))
	expectDeleting(t, old)
	release(t, old)
	expectWork(t, app)
	expectNoNotice(t, app, apis.ConditionMoveWarning)
}

// TestMoveOldFirstToAClusterThatCannotTakeTheApplication: the Application stays on the old cluster if the new cluster
// cannot take it. Otherwise it would run nowhere.
func TestMoveOldFirstToAClusterThatCannotTakeTheApplication(t *testing.T) {
	start(t)
	for reason, hinder := range map[string]func(*testing.T, *scene){
		apis.ReasonExecutorInvalid: func(t *testing.T, s *scene) {
			edit(t, project(s.app.Project()), func(p *argocd.AppProject) {
				p.Annotations = map[string]string{apis.AnnotationExecutor: "nonsense"}
			})
		},
		apis.ReasonPayloadTooLarge: func(t *testing.T, s *scene) {
			edit(t, s.app, func(a *argocd.Application) { a.Spec.Raw = large(a.Spec.Raw) })
		},
		apis.ReasonClusterNamespaceMissing: func(t *testing.T, s *scene) {
			s.cluster = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: unique("cluster")}}
			s.cluster.Spec.HubAcceptsClient = true
			create(t, s.cluster)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			s := &scene{namespace: namespace(t, unique("apps")), cluster: cluster(t)}
			s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(cluster(t).Name).
				Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Obj()
			s.own(t, func(p *argocd.AppProjectSpec) { p.SourceNamespaces = []string{"*"} })
			create(t, s.app)
			old := expectWork(t, s.app)
			hinder(t, s)
			edit(t, s.app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = s.cluster.Name })
			expectProblem(t, s.app, reason, "")
			expectKept(t, old)
		})
	}
}

// TestMoveOldFirstToAClusterThatIsAway: the Application stays on the old cluster until the new cluster is available,
// and then moves automatically.
func TestMoveOldFirstToAClusterThatIsAway(t *testing.T) {
	start(t)
	from, to := cluster(t), cluster(t)
	availability(t, to, metav1.ConditionUnknown, "its lease is old")
	app := application(t, from).Finalizers(apis.FinalizerResources).Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Obj()
	create(t, app)
	old := expectWork(t, app)
	seen(t, old)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectNotice(t, app, apis.ConditionMoveWarning, "cluster "+from.Name+" keeps the Application")
	expectNotice(t, app, apis.ConditionMoveWarning, "cluster "+to.Name+" has not been available since ")
	expectNotice(t, app, apis.ConditionMoveWarning, "its lease is old")
	expectKept(t, old)
	if now := get(t, old); now.Generation != 1 {
		t.Error("the old cluster was prepared for the end")
	}
	availability(t, to, metav1.ConditionTrue, "")
	expectDeleting(t, old)
	expectNotice(t, app, apis.ConditionMoveWarning, "after cluster "+from.Name+" has removed its copy")
	availability(t, to, metav1.ConditionUnknown, "its lease is old") // too late: the removal has begun
	release(t, old)
	expectWork(t, app)
	expectNoNotice(t, app, apis.ConditionMoveWarning)
}

// large returns a spec that exceeds the size limit of a work.
func large(spec []byte) []byte {
	return []byte(strings.Replace(string(spec), "{", `{"info":[{"name":"x","value":"`+strings.Repeat("x", work.MaxPayload)+`"}],`, 1))
}

// TestRecreatedUnderTheSameName: the new Application's work takes over before the deletion of the old Application's
// work.
func TestRecreatedUnderTheSameName(t *testing.T) {
	towline := start(t)
	c := cluster(t)
	b := application(t, c)
	first := b.Obj()
	create(t, first)
	old := expectWork(t, first)
	towline.stop()
	remove(t, first)
	second := b.Obj()
	create(t, second)
	start(t)
	w := expectWork(t, second)
	if w.Name == old.Name {
		t.Fatalf("two Applications share the work %s", w.Name)
	}
	if got := get(t, old.DeepCopy()); got == nil {
		t.Fatal("the cluster's Application lost its only owner")
	}
	applied(t, w)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, old.DeepCopy()) }, soon, tick).Should(BeNil())
}

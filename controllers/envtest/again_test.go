package envtest_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// finalizersIn returns the finalizers of the Application in a work, or nil if the work has no Application.
func finalizersIn(t *testing.T, w *workv1.ManifestWork) []string {
	t.Helper()
	held, ok := work.Carried(get(t, w.DeepCopy()))
	if !ok {
		return nil
	}
	return held.Finalizers
}

// madeAgain creates an Application of the same name again, with a new UID.
func madeAgain(t *testing.T, app *argocd.Application, annotations map[string]string, finalizers ...string) *argocd.Application {
	t.Helper()
	b := fixture.Application(app.Name).Namespace(app.Namespace).Cluster(app.Cluster()).Finalizers(finalizers...)
	for key, value := range annotations {
		b.Annotation(key, value)
	}
	again := b.Obj()
	create(t, again)
	return again
}

// TestRecreatedInADifferentNamespace: the second Application, in a different namespace of the same cluster, takes over
// the workload of the first Application. The first Application leaves the cluster without its workload.
func TestRecreatedInADifferentNamespace(t *testing.T) {
	towline := start(t)
	app := deployed(t)
	old := workOf(t, app)
	towline.stop()
	dropped(t, app)
	again := madeAgain(t, app, map[string]string{apis.AnnotationAppNamespace: "elsewhere"}, apis.FinalizerResources)
	start(t)
	w := expectWork(t, again)
	seen(t, w)
	report(t, again, feedbackOf(again).Healthy("a"))
	expectAsking(t, old)
	expectKept(t, old)
	if got := finalizersIn(t, old); len(got) > 0 {
		t.Fatalf("the first would go with %v", got)
	}
	applied(t, get(t, old))
	expectDeleting(t, old)
	expectKept(t, w)
}

// TestRecreatedOnADifferentCluster: the first Application was deleted without a cascade, and its cluster has not
// confirmed the deletion. The finalizers of the second Application do not apply to the first Application's workload on
// the old cluster.
func TestRecreatedOnADifferentCluster(t *testing.T) {
	start(t)
	for title, order := range map[string]string{"new-first": apis.MoveNewFirst, "old-first": apis.MoveOldFirst, "deleted": ""} {
		t.Run(title, func(t *testing.T) {
			app := deployed(t)
			old := workOf(t, app)
			dropped(t, app)
			expectAsking(t, old)
			expectGone(t, app)
			again := madeAgain(t, app, map[string]string{
				apis.AnnotationCluster: cluster(t).Name, apis.AnnotationMoveOrder: order,
			}, apis.FinalizerResources)
			switch order {
			case apis.MoveNewFirst:
				report(t, again, feedbackOf(again).Healthy("a"))
				expectNotice(t, again, apis.ConditionMoveWarning, "cluster "+old.Namespace)
			case apis.MoveOldFirst:
				expectNotice(t, again, apis.ConditionMoveWarning, "cluster "+old.Namespace)
			default:
				expectWork(t, again)
				remove(t, again)
				expectGone(t, again)
			}
			expectKept(t, old)
			if got := finalizersIn(t, old); len(got) > 0 {
				t.Fatalf("what the first one left would go with %v", got)
			}
			applied(t, get(t, old))
			expectDeleting(t, old)
		})
	}
}

// TestRecreatedAndDeletedAtOnce: the second Application requests a cascade for the workload that the first Application
// brought to the same place. The hub therefore waits for the cascade.
func TestRecreatedAndDeletedAtOnce(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	old := atWork(t, app)
	towline.stop()
	remove(t, app)
	again := madeAgain(t, app, nil, apis.FinalizerResources)
	remove(t, again)
	start(t)
	NewWithT(t).Eventually(func() []string { return finalizersIn(t, old) }, soon, tick).Should(ConsistOf(apis.FinalizerResources))
	expectNotice(t, again, apis.ConditionDeletionWarning, "waiting for cluster "+old.Namespace)
	expectKept(t, old)
	applied(t, get(t, old))
	expectDeleting(t, old)
	if get(t, again.DeepCopy()) == nil {
		t.Fatal("the hub says gone while the cluster has what the first one brought")
	}
	release(t, old)
	expectGone(t, again)
}

// TestARecreatedWorkIsNotUnseen: the previous work was deleted without its agent, as in the case of a second import of
// a ManagedCluster. The cluster has the Application, and would destroy it on finding no work.
func TestARecreatedWorkIsNotUnseen(t *testing.T) {
	start(t)
	t.Run("without a cascade", func(t *testing.T) {
		app := madeAnew(t)
		w := workOf(t, app)
		dropped(t, app)
		expectAsking(t, w)
		if got := finalizersIn(t, w); len(got) > 0 {
			t.Fatalf("it would go with %v", got)
		}
		expectKept(t, w)
		seen(t, w) // the agent comes, and must not create the deleted Application if the cluster lacks it
		if work.UpdateModeOf(w) != work.ReadOnly {
			t.Fatal("what is not there is made anew")
		}
		agentSays(t, w, agentOf(t, w).String("workOwner", owner(w)))
		NewWithT(t).Eventually(func() work.UpdateMode { return work.UpdateModeOf(get(t, w.DeepCopy())) }, soon, tick).Should(Equal(work.ForceApply))
		expectKept(t, w)
		applied(t, get(t, w))
		expectDeleting(t, w)
	})
	t.Run("without a cascade, from a cluster that was built anew", func(t *testing.T) {
		app := madeAnew(t)
		w := workOf(t, app)
		dropped(t, app)
		expectAsking(t, w)
		seen(t, w)
		agentSays(t, w, agentOf(t, w).Condition(workv1.WorkAvailable, metav1.ConditionFalse, "Resource is not available"))
		expectDeleting(t, w)
	})
	t.Run("with a cascade", func(t *testing.T) {
		app := madeAnew(t)
		w := workOf(t, app)
		remove(t, app)
		expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+w.Namespace)
		expectKept(t, w)
		seen(t, w)
		applied(t, get(t, w))
		expectDeleting(t, w)
		if get(t, app.DeepCopy()) == nil {
			t.Fatal("the hub says gone while the cluster has it")
		}
		release(t, w)
		expectGone(t, app)
	})
	t.Run("forced", func(t *testing.T) {
		app := madeAnew(t)
		w := workOf(t, app)
		remove(t, app)
		expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+w.Namespace)
		edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
		expectDeleting(t, w)
		expectGone(t, app)
	})
}

// TestAWorkThatWasRestored: a work that a backup restores during a removal restarts its generations. The agent has not
// seen the restored generation.
func TestAWorkThatWasRestored(t *testing.T) {
	towline := start(t)
	app := deployed(t)
	w := workOf(t, app)
	dropped(t, app)
	expectAsking(t, w)
	towline.stop()
	restored := w.DeepCopy()
	end(t, w)
	restored.ObjectMeta = metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name, Labels: w.Labels, Annotations: restored.Annotations, Finalizers: restored.Finalizers,
	}
	restored.Status = workv1.ManifestWorkStatus{}
	create(t, restored)
	start(t)
	expectKept(t, restored)
	applied(t, get(t, restored))
	expectDeleting(t, restored)
}

// TestChangeOfNamespaceOfAWorkWithoutOptions: the first pull controllers set no options on their works. Only the
// Application in the work tells its namespace on the cluster.
func TestChangeOfNamespaceOfAWorkWithoutOptions(t *testing.T) {
	for title, labels := range map[string]map[string]string{"seen": {apis.LabelPull: "true"}, "without its label": nil} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w, err := work.Render(app, work.Requests{})
			if err != nil {
				t.Fatal(err)
			}
			w.Labels, w.Finalizers, w.Spec.ManifestConfigs = labels, []string{agentFinalizer}, nil
			create(t, w)
			agentSays(t, w, agentOf(t, w))
			ends["another namespace there"](t, app)
			start(t)
			expectAsking(t, w)
			expectNoEnd(t, w)
			applied(t, get(t, w))
			expectEnd(t, w)
		})
	}
}

// TestForceDeleteOfAWorkloadThatStays: the hub no longer waits for the cluster, and the workload on the cluster stays
// all the same.
func TestForceDeleteOfAWorkloadThatStays(t *testing.T) {
	start(t)
	c := cluster(t)
	app := application(t, c).Finalizers(apis.FinalizerResources, apis.FinalizerPostDelete).Obj()
	create(t, app)
	w := atWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{apis.FinalizerPostDelete} })
	remove(t, app)
	expectAsking(t, w)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
	expectGone(t, app)
	expectKept(t, w)
	applied(t, get(t, w))
	expectDeleting(t, w)
}

// TestTakingOverFromAReleasedApplication: the agent of the first Application has released the Application on the
// cluster. The work of the second Application is then the only owner.
func TestTakingOverFromAReleasedApplication(t *testing.T) {
	c := cluster(t)
	inPlace := func() *argocd.Application {
		app := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Finalizers(apis.FinalizerResources).Obj()
		create(t, app)
		return app
	}
	first, second := inPlace(), inPlace()
	if second.CreationTimestamp.Equal(&first.CreationTimestamp) && second.UID < first.UID {
		first, second = second, first
	}
	for _, app := range []*argocd.Application{first, second} {
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		if app == first {
			if w, err = work.Release(w, nil); err != nil {
				t.Fatal(err)
			}
		}
		w.Finalizers = []string{agentFinalizer}
		create(t, w)
		applied(t, w)
	}
	edit(t, first, func(a *argocd.Application) {
		a.Annotations[apis.AnnotationRelease], a.Annotations[apis.AnnotationPaused] = "true", "true"
	})
	start(t)
	expectProblem(t, second, apis.ReasonTargetConflict, first.Namespace+"/"+first.Name)
	expectKept(t, workOf(t, second))
}

// TestMoveToAClusterThatLostTheApplication: the last report of an Application does not count if the agent finds no
// Application, or cannot read the Application.
func TestMoveToAClusterThatLostTheApplication(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Move.Timeout = time.Hour })
	for title, available := range map[string]metav1.ConditionStatus{
		"it is not there": metav1.ConditionFalse, "it cannot be read": metav1.ConditionUnknown,
	} {
		t.Run(title, func(t *testing.T) {
			app := deployed(t)
			old := workOf(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = cluster(t).Name })
			report(t, app, feedbackOf(app).Healthy("a").Condition(workv1.WorkAvailable, available, ""))
			expectNotice(t, app, apis.ConditionMoveWarning, "cluster "+old.Namespace+" keeps the Application until the new cluster's copy is healthy")
			expectKept(t, old)
			report(t, app, feedbackOf(app).Healthy("a"))
			expectDeleting(t, old)
		})
	}
}

// TestMoveOfARequestThatMayNotBeTakenBack: the Application has lost the permission for the old cluster, so Towline
// cannot send the whole Application there. If the workload is to stay, the old cluster therefore keeps the Application
// too.
func TestMoveOfARequestThatMayNotBeTakenBack(t *testing.T) {
	start(t)
	for title, finalizers := range map[string][]string{"to stay": nil, "to go": {apis.FinalizerResources}} {
		t.Run(title, func(t *testing.T) {
			from, to := cluster(t), cluster(t)
			s := &scene{namespace: namespace(t, unique("apps")), cluster: from}
			s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(from.Name).
				Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Finalizers(apis.FinalizerResources).Obj()
			if len(finalizers) > 0 {
				s.app.Finalizers = nil
			}
			s.own(t, func(p *argocd.AppProjectSpec) {
				p.SourceNamespaces = []string{"*"}
				p.Destinations = []argocd.ProjectDestination{{Name: from.Name, Namespace: "*"}, {Name: to.Name, Namespace: "*"}}
			})
			app := s.app
			create(t, app)
			seen(t, expectWork(t, app))
			report(t, app, feedbackOf(app).Healthy("a"))
			request(t, app, `{"sync":{}}`)
			sentOperation(t, app, "")
			w := workOf(t, app)
			s.allow(t, func(p *argocd.AppProjectSpec) {
				p.Destinations = []argocd.ProjectDestination{{Name: to.Name, Namespace: "*"}}
			})
			expectForbidden(t, app, apis.ReasonDestinationForbidden, "")
			edit(t, app, func(a *argocd.Application) {
				a.Finalizers, a.Annotations[apis.AnnotationCluster] = finalizers, to.Name
			})
			NewWithT(t).Eventually(func() bool { return work.CarriesRequest(get(t, w)) }, soon, tick).Should(BeFalse(), "it goes as it was sent")
			raw := string(get(t, w).Spec.Workload.Manifests[0].Raw)
			if strings.Contains(raw, `"spec"`) || strings.Contains(raw, apis.FinalizerResources) == (finalizers == nil) {
				t.Errorf("the old cluster gets %s", raw)
			}
			if stays := w.Spec.DeleteOption != nil; stays != (finalizers == nil) {
				t.Errorf("the cluster keeps the Application: %t", stays)
			}
			expectKept(t, w)
			applied(t, get(t, w))
			expectDeleting(t, w)
		})
	}
}

// TestAReleaseThatBecomesAMove: a work with the mode CreateOnly must not own the Application at the removal of the
// work.
func TestAReleaseThatBecomesAMove(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := expectWork(t, app)
	seen(t, w)
	agentSays(t, w, agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue))
	NewWithT(t).Eventually(func() bool { return work.AsksOrigin(get(t, w)) }, soon, tick).Should(BeTrue())
	agentSays(t, w, agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue))
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	expectClaim(t, app, work.CreateOnly)
	edit(t, app, func(a *argocd.Application) {
		delete(a.Annotations, apis.AnnotationRelease)
		a.Finalizers, a.Annotations[apis.AnnotationCluster] = nil, cluster(t).Name
	})
	settled(t)
	if now := get(t, w); now != nil && work.UpdateModeOf(now) == work.CreateOnly && now.Spec.DeleteOption == nil {
		t.Fatal("somebody else's Application becomes the work's own, and goes with it")
	}
	expectKept(t, w)
	applied(t, get(t, w))
	expectDeleting(t, w)
}

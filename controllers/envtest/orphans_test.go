package envtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// atWork plays the start of the work agent: the agent sets its finalizer on the Application's work, and applies the
// work.
func atWork(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	expectWork(t, app)
	w := workOf(t, app)
	seen(t, w)
	applied(t, w)
	return w
}

// hasty shortens the loss window, for a hub with few missing Applications after a start.
func hasty(o *controllers.Options) { o.LossWindow = 300 * time.Millisecond }

// patient sets a loss window that is long enough for a loaded machine to find all missing Applications.
func patient(o *controllers.Options) { o.LossWindow = 3 * time.Second }

// dropped deletes an Application like `argocd app delete --cascade=false`: the finalizers are removed first.
func dropped(t *testing.T, app *argocd.Application) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
	remove(t, app)
}

// TestAnOrphanDoesNotCascade: a user who removes the finalizer from the hub's Application wants to keep the workload,
// even if the work still has the finalizer.
func TestAnOrphanDoesNotCascade(t *testing.T) {
	for title, request := range map[string]string{"an Application": "", "a request": `{"sync":{}}`} {
		t.Run(title, func(t *testing.T) {
			towline := start(t)
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := atWork(t, app)
			if request != "" {
				report(t, app, feedbackOf(app).Healthy("a"))
				edit(t, app, func(a *argocd.Application) { a.Operation = fixture.Application("x").Operation(request).Obj().Operation })
				sentOperation(t, app, "")
			}
			towline.stop()
			dropped(t, app)
			start(t, hasty)
			g := NewWithT(t)
			g.Eventually(func() string { return string(get(t, w).Spec.Workload.Manifests[0].Raw) }, soon, tick).
				ShouldNot(Or(ContainSubstring(apis.FinalizerResources), ContainSubstring(`"operation"`)))
			expectKept(t, w)
			applied(t, get(t, w))
			expectDeleting(t, w)
			if request != "" && w.Spec.DeleteOption == nil {
				t.Error("the cluster's copy has its finalizers still, and would cascade")
			}
		})
	}
}

// TestAnOrphanThatNoBackupHas: the console of Advanced Cluster Management keeps Applications of ApplicationSets out of
// backups. A restored hub has the ApplicationSets but no Applications, until the ApplicationSets have run again.
// Towline keeps such works until then, even a small number of them, and the new Applications take over. Once the
// ApplicationSet has an Application, a missing Application counts as deleted.
func TestAnOrphanThatNoBackupHas(t *testing.T) {
	towline := start(t)
	set := unique("set")
	c := cluster(t)
	made := func(name string, b *fixture.ApplicationBuilder) *argocd.Application {
		app := b.ApplicationSet(set).Label(apis.LabelExcludedFromBackup, "true").Finalizers(apis.FinalizerResources).Obj()
		app.Name = name
		create(t, app)
		return app
	}
	app := made("first", application(t, c))
	w := atWork(t, app)
	again := app.DeepCopy()
	again.UID, again.ResourceVersion = "", ""
	towline.stop()
	dropped(t, app)
	towline = start(t, hasty)
	g := NewWithT(t)
	g.Eventually(func() string { return get(t, w).Annotations[apis.AnnotationOrphanedAt] }, soon, tick).ShouldNot(BeEmpty())
	settled(t)
	g.Expect(work.Released(get(t, w))).To(BeFalse(), "the Application is taken off its cluster")
	expectKept(t, w)
	create(t, again)
	atWork(t, again)
	expectDeleting(t, w) // the Application of the new work has taken over in place

	other := made("second", application(t, c).Namespace(app.Namespace))
	gone := atWork(t, other)
	towline.stop()
	dropped(t, other)
	start(t, hasty)
	g.Eventually(func() string { return string(get(t, gone).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		ShouldNot(ContainSubstring(apis.FinalizerResources))
	g.Expect(gone.Annotations[apis.AnnotationOrphanedAt]).To(BeEmpty())
}

// TestAnOrphanThatTheClusterRefuses: an event reports the refusal. The work stays until the cluster's Application is
// gone, because the cluster's Application may cascade.
func TestAnOrphanThatTheClusterRefuses(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	dropped(t, app)
	agentSays(t, expectAsking(t, w), agentOf(t, w).Refused("no rights", metav1.ConditionTrue))
	NewWithT(t).Eventually(func() []string { return eventReasons(t, w) }, soon, tick).Should(ContainElement(apis.ReasonRemovalRefused))
	expectKept(t, w)
	agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionFalse))
	expectDeleting(t, w)
}

// TestARecordedDeletionOutlastsARestart: a work waiting for its cluster has a record of the lost Application. A
// restarted Towline reads the record.
func TestARecordedDeletionOutlastsARestart(t *testing.T) {
	towline := start(t)
	apps, works := many(t, apis.FinalizerResources)
	for _, app := range apps {
		dropped(t, app)
	}
	for _, w := range works {
		expectAsking(t, w)
	}
	towline.stop()
	start(t)
	for _, w := range works {
		applied(t, get(t, w))
		expectDeleting(t, w)
	}
}

// TestAWorkThatWaitsCanBeAdopted: after the end of the Application, a person decides that everything stays on the
// cluster.
func TestAWorkThatWaitsCanBeAdopted(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	dropped(t, app)
	expectAsking(t, w)
	edit(t, w, func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = delivery.AfterRestoreAdopt })
	NewWithT(t).Eventually(func() bool { return work.Released(get(t, w)) && w.Spec.DeleteOption != nil }, soon, tick).Should(BeTrue(),
		"with it goes the cluster's Application")
	if word := w.Annotations[apis.AnnotationOrphaned]; word != delivery.AfterRestoreAdopt {
		t.Errorf("the word is %q now", word)
	}
	applied(t, w)
	expectDeleting(t, w)
}

// TestDeletionAfterARelease: the hub's finalizer requests a cascade, so the cluster's Application gets the finalizer
// back before its deletion.
func TestDeletionAfterARelease(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	expectReleasing(t, app)
	towline.stop()
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationRelease) })
	remove(t, app)
	start(t)
	g := NewWithT(t)
	g.Eventually(func() bool { return work.Released(get(t, w)) }, soon, tick).Should(BeFalse())
	expectKept(t, w)
	applied(t, get(t, w))
	if carried := expectDeleting(t, w); !strings.Contains(carried, apis.FinalizerResources) {
		t.Errorf("what it deployed would stay: %s", carried)
	}
	if get(t, app.DeepCopy()) == nil {
		t.Error("the hub did not wait for the cluster")
	}
}

// TestAReleaseWaitsForThePause: a release waits while the Application, its ApplicationSet or the cluster is paused, and
// continues after the pause. The combination of the kind of release and the kind of pause makes no difference: see
// TestRelease of package delivery.
func TestAReleaseWaitsForThePause(t *testing.T) {
	start(t)
	for slip, tc := range map[string]struct{ cause, says, shownBy string }{
		"the label is gone":    {"Application", "this Application", apis.ConditionPausedWarning},
		"the label says false": {"ApplicationSet", "ApplicationSet", apis.ConditionPausedWarning},
		"no cluster is named":  {"Namespace", "Namespace", apis.ConditionPropagationError},
	} {
		t.Run(slip+", "+tc.cause, func(t *testing.T) {
			c, set := cluster(t), pausable(t)
			app := application(t, c).Namespace(set.GetNamespace()).ApplicationSet(set.GetName()).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := atWork(t, app)
			pauses := map[string]client.Object{"Application": app.DeepCopy(), "ApplicationSet": set, "Namespace": namespaceOf(c.Name)}[tc.cause]
			annotate(t, pauses, "true")
			expectNotice(t, app, apis.ConditionPausedWarning, "on "+tc.says) // a pause that the cache does not have yet delays nothing
			edit(t, app, slips[slip])
			expectNotice(t, app, tc.shownBy, "paused by the annotation "+apis.AnnotationPaused+" on "+tc.says)
			settled(t)
			if work.Released(get(t, w)) {
				t.Fatal("the work was written")
			}
			annotate(t, pauses, "false")
			NewWithT(t).Eventually(func() bool { return work.Released(get(t, w)) }, soon, tick).Should(BeTrue())
		})
	}
}

// many creates more Applications than the limit for a mass loss, with an agent at work on each.
func many(t *testing.T, finalizers ...string) ([]*argocd.Application, []*workv1.ManifestWork) {
	t.Helper()
	c, ns := cluster(t), namespace(t, unique("apps"))
	var apps []*argocd.Application
	var works []*workv1.ManifestWork
	for i := range 12 {
		app := fixture.Application(fmt.Sprintf("app-%d", i)).Namespace(ns).Cluster(c.Name).Finalizers(finalizers...).Obj()
		create(t, app)
		apps = append(apps, app)
	}
	for _, app := range apps {
		works = append(works, atWork(t, app))
	}
	return apps, works
}

// TestALossInBulkIsHeld: if many works lack their Applications, and Towline has seen no deletion, Towline keeps the
// works. The works wait until a person decides, or the Applications exist again.
func TestALossInBulkIsHeld(t *testing.T) {
	towline := start(t)
	apps, works := many(t, apis.FinalizerResources)
	towline.stop()
	for _, app := range apps {
		dropped(t, app)
	}
	towline = start(t, patient)
	g := NewWithT(t)
	for _, w := range works {
		g.Eventually(func() string { return get(t, w).Annotations[apis.AnnotationOrphanedAt] }, soon, tick).ShouldNot(BeEmpty())
		if !w.DeletionTimestamp.IsZero() || !strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), apis.FinalizerResources) {
			t.Fatal("it was changed")
		}
	}
	g.Eventually(func() []string { return eventReasons(t, works[0]) }, soon, tick).Should(ContainElement(apis.ReasonOrphaned))

	again := fixture.Application(apps[0].Name).Namespace(apps[0].Namespace).Cluster(apps[0].Cluster()).Obj()
	create(t, again)
	applied(t, expectWork(t, again))
	expectDeleting(t, works[0]) // the work of the new Application has replaced the old work

	// A person decides for a single work.
	edit(t, works[2], func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = delivery.AfterRestoreAdopt })
	g.Eventually(func() bool { return work.Released(get(t, works[2])) }, soon, tick).Should(BeTrue())
	edit(t, works[3], func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = delivery.AfterRestoreDelete })
	applied(t, expectAsking(t, works[3]))
	expectDeleting(t, works[3])

	// An Application that existed again for a short time and was deleted is no longer lost.
	brief := fixture.Application(apps[1].Name).Namespace(apps[1].Namespace).Cluster(apps[1].Cluster()).Obj()
	create(t, brief)
	expectWork(t, brief)
	remove(t, brief)
	applied(t, expectAsking(t, works[1]))
	expectDeleting(t, works[1])

	// A few remaining works after a restart still belong to the same loss.
	towline.stop()
	for _, w := range works[:9] {
		end(t, w)
	}
	towline = start(t, patient)
	for _, w := range works[9:] {
		expectKept(t, w)
	}
	towline.stop()
	start(t, func(o *controllers.Options) { o.AfterRestore = delivery.AfterRestoreAdopt })
	for _, w := range works[9:] {
		g.Eventually(func() bool { return work.Released(get(t, w)) }, soon, tick).Should(BeTrue())
		applied(t, w)
		expectDeleting(t, w)
	}
}

// TestALossWaitsForThePause: a loss on a paused cluster waits for the end of the pause. No watch reports the end.
func TestALossWaitsForThePause(t *testing.T) {
	towline := start(t)
	apps, works := many(t)
	towline.stop()
	c := managedCluster(apps[0].Cluster())
	annotate(t, c, "true")
	for _, app := range apps {
		dropped(t, app)
	}
	start(t, patient)
	settled(t)
	expectKept(t, works[0])
	if get(t, works[0]).Annotations[apis.AnnotationOrphanedAt] != "" {
		t.Fatal("the work was written")
	}
	annotate(t, c, "")
	for _, w := range works {
		NewWithT(t).Eventually(func() string { return get(t, w).Annotations[apis.AnnotationOrphanedAt] }, soon, tick).ShouldNot(BeEmpty())
	}
}

// TestAfterRestoreDelete: after a person's decision "delete", the Applications leave their clusters, and the workload
// stays.
func TestAfterRestoreDelete(t *testing.T) {
	towline := start(t)
	apps, works := many(t)
	towline.stop()
	for _, app := range apps {
		remove(t, app)
	}
	start(t, func(o *controllers.Options) { o.AfterRestore = delivery.AfterRestoreDelete })
	for _, w := range works {
		applied(t, expectAsking(t, w))
		expectDeleting(t, w)
	}
}

// TestADeletionInBulkIsNoLoss: Towline has seen every deletion.
func TestADeletionInBulkIsNoLoss(t *testing.T) {
	start(t)
	apps, works := many(t)
	for _, app := range apps {
		remove(t, app)
	}
	for _, w := range works {
		applied(t, expectAsking(t, w))
		expectDeleting(t, w)
	}
}

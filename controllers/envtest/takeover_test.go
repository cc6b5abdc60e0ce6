package envtest_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// ofEach is the number of works from older controllers, for each kind of work and each state.
var ofEach = flag.Int("takeover.each", 10, "how many works of older controllers there are, of each of two kinds and from each of two states")

// olderOnes are Applications, and their works by name as an older controller created them.
type olderOnes struct {
	set   appSet
	apps  []*argocd.Application
	works map[string]*workv1.ManifestWork
}

// each calls do for each Application, several in parallel.
func (o *olderOnes) each(t *testing.T, do func(*argocd.Application) error) {
	t.Helper()
	var all sync.WaitGroup
	next := make(chan *argocd.Application)
	for range 8 {
		all.Go(func() {
			for app := range next {
				if err := do(app); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, app := range o.apps {
		next <- app
	}
	close(next)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// bring creates an Application and its applied work.
func (o *olderOnes) bring(ctx context.Context, app *argocd.Application, disabled bool, mu *sync.Mutex) error {
	app.UID = ""
	if err := k8s.Create(ctx, app); err != nil {
		return err
	}
	w := fixture.OlderWork(app, disabled)
	status := w.Status
	if err := k8s.Create(ctx, w); err != nil {
		return err
	}
	before := w.DeepCopy()
	fixture.Report(w, status)
	if err := k8s.Status().Patch(ctx, w, client.MergeFrom(before)); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	o.works[app.Name] = w
	return nil
}

// now returns the current work of an Application on the hub.
func (o *olderOnes) now(ctx context.Context, app *argocd.Application) (*workv1.ManifestWork, error) {
	w := &workv1.ManifestWork{}
	return w, k8s.Get(ctx, client.ObjectKeyFromObject(o.works[app.Name]), w)
}

// expectTaken waits until Towline has rewritten all works, and then lets their agents apply the works.
func (o *olderOnes) expectTaken(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() (left []string) {
		list := &workv1.ManifestWorkList{}
		if err := k8s.List(t.Context(), list, client.InNamespace(o.apps[0].Cluster())); err != nil {
			return []string{err.Error()}
		}
		for i := range list.Items {
			if w := &list.Items[i]; work.ByOlder(w) {
				left = append(left, w.Name)
			}
		}
		return left
	}, 4*time.Minute, 10*tick).Should(BeEmpty(), "they are not taken over")
	o.each(t, func(app *argocd.Application) error {
		w, err := o.now(t.Context(), app)
		if err != nil {
			return err
		}
		desired, err := work.Render(app, work.Requests{Watched: work.Polled(w)})
		if err != nil {
			return err
		}
		if _, differs := work.Update(w, desired); differs || w.Labels[apis.LabelPull] != "true" {
			return fmt.Errorf("%s: the work says %+v", app.Name, w.Spec)
		}
		return applyAsWritten(t.Context(), w)
	})
}

// applyAsWritten plays the agent of a work from Towline: it reports the requested fields.
func applyAsWritten(ctx context.Context, w *workv1.ManifestWork) error {
	before := w.DeepCopy()
	fixture.Report(w, fixture.OnlyRequested(w, fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).
		String("healthStatus", "Healthy").String("syncStatus", "Synced").String("syncRevision", "d859c372dcf4268fa630981b68b8631e9b54f5d2").
		String("operationStatePhase", "Succeeded").String("operationStateStartedAt", "2026-11-22T12:16:37Z").
		String("operationStateFinishedAt", "2026-11-22T12:16:39Z").String("reconciledAt", "2026-11-22T12:16:45Z").
		Compared("2026-11-22T12:16:39Z").Obj()))
	return k8s.Status().Patch(ctx, w, client.MergeFrom(before))
}

// olderSet creates the Applications, with or without an ApplicationSet, with works in both states.
func olderSet(t *testing.T) *olderOnes {
	t.Helper()
	o := &olderOnes{works: map[string]*workv1.ManifestWork{}}
	o.set = applicationSetNamed(t, namespace(t, unique("older")), "old")
	to, disabled := cluster(t), map[string]bool{}
	for i := range 4 * *ofEach {
		b := fixture.Application(fmt.Sprintf("older-%04d", i)).Namespace(o.set.Namespace).Cluster(to.Name)
		if i%2 == 0 {
			b = o.set.application(to, fmt.Sprintf("older-%04d", i))
		}
		app := b.Finalizers(apis.FinalizerResources).Obj()
		disabled[app.Name] = i%4 > 1
		if i%2 == 0 { // the Application shows only the status known to its older controller
			app.Status.Health.Status, app.Status.Sync = "Healthy", &argocd.Sync{Status: "Synced"}
			app.Status.Conditions = []argocd.Condition{fixture.OlderCondition(app)}
		}
		o.apps = append(o.apps, app)
	}
	var mu sync.Mutex
	o.each(t, func(app *argocd.Application) error { return o.bring(t.Context(), app, disabled[app.Name], &mu) })
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		o.each(t, func(app *argocd.Application) error {
			for _, obj := range []client.Object{app, o.works[app.Name]} {
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
				if err := client.IgnoreNotFound(k8s.Patch(ctx, obj, patch)); err != nil {
					return err
				}
				if err := client.IgnoreNotFound(k8s.Delete(ctx, obj)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return o
}

// TestTakeOver: Towline continues with the works of older controllers. The works have two kinds and two states: a
// stopped controller, and a disabled pull model. Towline deletes and recreates no work, and writes each work once. The
// first works are an exception: see atOnce.
func TestTakeOver(t *testing.T) {
	o := olderSet(t)
	begun := time.Now()
	towline := start(t, func(o *controllers.Options) { o.Adopt = apis.AdoptNever })
	o.expectTaken(t)
	taken := time.Since(begun)
	g := NewWithT(t)
	g.Eventually(func() (wrong []string) {
		list := &argocd.ApplicationList{}
		if err := k8s.List(t.Context(), list, client.InNamespace(o.apps[0].Namespace)); err != nil {
			return []string{err.Error()}
		}
		for _, app := range list.Items {
			s := &app.Status
			if s.OperationState == nil || s.OperationState.FinishedAt == "" || s.Health.Status != "Healthy" || len(s.Conditions) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s shows %+v", app.Name, s.Conditions))
			}
		}
		return wrong
	}, 3*time.Minute, 10*tick).Should(BeEmpty())
	o.set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Healthy).To(Equal(fmt.Sprint(2 * *ofEach)))
		g.Expect(r.Statuses.Summary.Synced).To(Equal(fmt.Sprint(2 * *ofEach)))
		g.Expect(r.Statuses.ClusterConditions).To(HaveLen(2 * *ofEach))
	})
	const atOnce = 16 // the first works of a place, written at the same time, may all ask for the watch; all but one withdraw the wish
	var twice atomic.Int32
	o.each(t, func(app *argocd.Application) error {
		w, err := o.now(t.Context(), app)
		before := o.works[app.Name]
		if err != nil {
			return err
		}
		once := w.Generation == before.Generation+1 || w.Generation == before.Generation+2 && twice.Add(1) <= atOnce
		if w.UID != before.UID || !once {
			return fmt.Errorf("%s has generation %d after %d, UID %s after %s", w.Name, w.Generation, before.Generation, w.UID, before.UID)
		}
		return nil
	})
	requests := map[string]int{}
	for _, made := range towline.made(t) {
		if method, path, _ := strings.Cut(made, " "); strings.Contains(path, "/manifestworks") {
			requests[method]++
		}
	}
	if requests[http.MethodPatch] != len(o.apps)+int(twice.Load()) || len(requests) != 1 {
		t.Errorf("requests for works: %v", requests)
	}
	t.Logf("%d works taken over in %s; requests for works: %v", len(o.apps), taken.Round(time.Millisecond), requests)
}

// disableWork sets a work to ReadOnly, as an older controller with a disabled pull model does at its start.
func disableWork(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	edit(t, w, func(w *workv1.ManifestWork) {
		w.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
	})
}

// TestDisabledByAnOlderController: an older controller sets a work of Towline to ReadOnly, while Towline runs or is
// stopped. Towline restores the update mode with one write, and shows no refusal.
func TestDisabledByAnOlderController(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectSettled(t, app) // Towline writes the work once more when the hub shows the first comparison
	settled(t)
	for _, again := range []func(){
		func() { disableWork(t, workOf(t, app)) },
		func() {
			towline.stop()
			disableWork(t, workOf(t, app))
			applied(t, workOf(t, app)) // the report says applied, although the agent applied nothing
			start(t, func(o *controllers.Options) { o.Adopt = apis.AdoptNever })
		},
	} {
		before := workOf(t, app)
		again()
		NewWithT(t).Eventually(func() bool { return work.IsReadOnly(workOf(t, app)) }, soon, tick).Should(BeFalse())
		applied(t, workOf(t, app))
		settled(t)
		now := workOf(t, app)
		if now.Generation != before.Generation+2 || work.UpdateModeOf(now) != work.UpdateModeOf(before) || !work.SameSpec(&now.Spec, &before.Spec) {
			t.Errorf("it has generation %d after %d, and says %+v", now.Generation, before.Generation, now.Spec.ManifestConfigs[0].UpdateStrategy)
		}
		if shown := get(t, app.DeepCopy()).Status.Conditions; len(shown) > 0 {
			t.Errorf("it shows %v", shown)
		}
	}
}

// TestTakeOverOfWorksWithoutApplications: Towline finds the works of Applications that no longer exist on the hub,
// regardless of their labels. The older controllers left the works behind. The works and their objects stay unchanged
// until a person decides.
func TestTakeOverOfWorksWithoutApplications(t *testing.T) {
	ns, to := namespace(t, unique("older")), cluster(t)
	for title, b := range map[string]*fixture.ApplicationBuilder{
		"standalone": fixture.Application("alone"),
		"of a set":   fixture.Application("one-of-set").ApplicationSet("old"),
		"unlabelled": fixture.Application("unlabelled"),
	} {
		t.Run(title, func(t *testing.T) {
			app := b.Namespace(ns).Cluster(to.Name).Obj()
			w := fixture.OlderWork(app, true)
			if title == "unlabelled" {
				w.Labels = nil
			}
			create(t, w)
			towline := start(t)
			NewWithT(t).Eventually(func() map[string]string { return get(t, w.DeepCopy()).Annotations }, soon, tick).
				Should(HaveKey(apis.AnnotationOrphanedAt))
			got := get(t, w.DeepCopy())
			if got.Labels[apis.LabelPull] != "true" || got.Generation != w.Generation || !got.DeletionTimestamp.IsZero() {
				t.Errorf("it is %+v", got)
			}
			towline.stop()
			start(t, func(o *controllers.Options) { o.AfterRestore = "adopt" })
			NewWithT(t).Eventually(func() bool { return work.Released(get(t, w.DeepCopy())) }, soon, tick).Should(BeTrue())
			applied(t, get(t, w.DeepCopy()))
			NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, w.DeepCopy()) }, soon, tick).
				Should(HaveField("DeletionTimestamp", Not(BeNil())))
			release(t, w)
		})
	}
}

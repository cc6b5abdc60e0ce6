package delivery

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// olderWork returns a recorded work of an older controller for the Application.
func olderWork(app *argocd.Application, disabled bool, edits ...func(*workv1.ManifestWork)) *workv1.ManifestWork {
	w := fixture.OlderWork(app, disabled)
	w.UID, w.ResourceVersion, w.Generation = types.UID("uid-"+w.Namespace+"-"+w.Name), "7", 1
	appliedAsItIs(w)
	for _, edit := range edits {
		edit(w)
	}
	return w
}

// appliedAsItIs sets the agent's report: all manifests of the current generation are applied.
func appliedAsItIs(w *workv1.ManifestWork) {
	fixture.Report(w, w.Status)
	for i := range w.Status.ResourceStatus.Manifests {
		for j := range w.Status.ResourceStatus.Manifests[i].Conditions {
			w.Status.ResourceStatus.Manifests[i].Conditions[j].ObservedGeneration = w.Generation
		}
	}
}

// notApplied makes the report of the agent about an earlier generation.
func notApplied(w *workv1.ManifestWork) { w.Generation++ }

// withoutRules removes the delete option, so that the end of a work removes all objects.
func withoutRules(w *workv1.ManifestWork) { w.Spec.DeleteOption = nil }

func (s *situation) older(disabled bool, edits ...func(*workv1.ManifestWork)) *situation {
	s.Own = olderWork(s.App, disabled, edits...)
	return s
}

func (s *situation) adopting(how string) *situation {
	s.Adopt = how
	return s
}

// kinds are the works of older controllers, before and after their pull model was disabled.
var kinds = map[string]struct {
	of       func() *fixture.ApplicationBuilder
	disabled bool
}{
	"standalone":           {cascading, false},
	"standalone, disabled": {cascading, true},
	"of a set":             {ofSet, false},
	"of a set, disabled":   {ofSet, true},
}

func ofSet() *fixture.ApplicationBuilder { return cascading().ApplicationSet("set") }

// TestOlderIsTakenOver: Towline writes an older controller's work once, for each earlier strategy and each rule of
// adoption. After the write, the work has only the Application, applied with force.
func TestOlderIsTakenOver(t *testing.T) {
	for title, kind := range kinds {
		for _, adopt := range []string{apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways} {
			t.Run(title+", "+adopt, func(t *testing.T) {
				s := of(kind.of()).older(kind.disabled).adopting(adopt)
				s.App.Status.Conditions = []argocd.Condition{fixture.OlderCondition(s.App)}
				plan := Decide(s.Facts, s.Options)
				if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate || len(plan.Destroys()) > 0 || len(plan.Conditions) > 0 {
					t.Fatalf("%q, %v", outline(&plan), plan.Conditions)
				}
				if plan.Hub == nil || plan.Hub.Conditions == nil || len(plan.Hub.Conditions) > 0 {
					t.Errorf("what the older controller left is shown still: %+v", plan.Hub)
				}
				w := plan.Steps[0].Work
				desired, err := work.Render(s.App, work.Requests{})
				if err != nil {
					t.Fatal(err)
				}
				if _, differs := work.Update(w, desired); differs || work.UpdateModeOf(w) != work.ForceApply || work.IsReadOnly(w) {
					t.Errorf("it says %+v", w)
				}
				if got := w.Annotations[apis.AnnotationBroughtProjects]; got != "argocd/default" {
					t.Errorf("it brought %q", got)
				}
				w.Generation++
				reports("Healthy", "syncStatus", "Synced", "operationStatePhase", "Succeeded", "operationStateStartedAt", "2026-11-22T12:16:37Z",
					"operationStateFinishedAt", "2026-11-22T12:16:39Z")(w)
				says("2026-11-22T12:16:39Z")(w)
				s.Own, s.App.Status.Conditions = w, nil
				if again := Decide(s.Facts, s.Options); len(again.Steps) > 0 || len(again.Conditions) > 0 {
					t.Errorf("it is written again: %q", outline(&again))
				}
			})
		}
	}
}

// TestOlder: no side manifest of an older controller's work leaves the cluster. A side manifest leaves the work, or
// ends with the work, only after the agent has given up the ownership.
func TestOlder(t *testing.T) {
	ends := func() *fixture.ApplicationBuilder { return deletedApp(cascading()) }
	forced := func() *fixture.ApplicationBuilder { return ends().Annotation(apis.AnnotationForceDelete, "true") }
	decides(t, map[string]row{
		"not applied as it is": {is: of(cascading()).older(true, notApplied), want: []string{"update cluster1"}},
		"it would take all":    {is: of(cascading()).older(false, withoutRules), want: []string{"update cluster1"}},
		"no agent has seen it": {is: of(cascading()).older(true, unseenYet), want: []string{"update cluster1"}},
		"deleted":              {is: of(ends()).older(false), want: []string{"update cluster1", deletionWaits}},
		"deleted, disabled":    {is: of(ends()).older(true), want: []string{"update cluster1", deletionWaits}},
		"deleted, and it would take all": {
			is: of(ends()).older(false, withoutRules), want: []string{"update cluster1", deletionWaits}},
		"deleted, and that is not applied": {
			is: of(ends()).older(false, notApplied), want: []string{deletionWaits}},
		"deleted by force, and that is not applied": {
			is: of(forced()).older(false, notApplied), want: []string{noFinalizers, "event DeletedUnconfirmed"}},
		"deleted by force": {
			is: of(forced()).older(false), want: []string{"delete cluster1", "  event WorkDeleted", noFinalizers, "event DeletedUnconfirmed"}},
		"replaced": {
			is: of(cascading()).own(t).with(func(s *situation) {
				earlier := s.App.DeepCopy()
				earlier.UID = "12345678-0000-4000-8000-000000000000"
				s.Others, s.Move.Timeout = works{olderWork(earlier, false, notApplied)}, 0
			}),
			want: []string{}},
		"replaced, and that is applied": {
			is: of(cascading()).own(t).with(func(s *situation) {
				earlier := s.App.DeepCopy()
				earlier.UID = "12345678-0000-4000-8000-000000000000"
				s.Others, s.Move.Timeout = works{olderWork(earlier, true)}, 0
			}),
			want: []string{"delete cluster1", "  event WorkDeleted"}},
		"released":           {is: of(cascading().Annotation(apis.AnnotationRelease, "true")).older(true), want: []string{"update cluster1", releaseWaits}},
		"gone, and lost":     {is: of(ofSet()).older(true).gone().with(lostOne), want: []string{"update cluster1", "  event Orphaned"}},
		"gone, told of":      {is: of(ofSet()).older(true).gone(), want: []string{"update cluster1"}},
		"never, and refused": {is: of(cascading()).older(true).adopting(apis.AdoptNever), want: []string{"update cluster1"}},
	})
}

func lostOne(s *situation) { s.Loss.Lost = true }

// TestOlderSideManifestsKept: the side manifests of a work stay in the work until the removal is safe, for each form
// of the work.
func TestOlderSideManifestsKept(t *testing.T) {
	for title, edit := range map[string]func(*workv1.ManifestWork){
		"not applied": notApplied, "it would take all": withoutRules,
		"another rule": func(w *workv1.ManifestWork) { w.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules[0].Name = "other" },
	} {
		t.Run(title, func(t *testing.T) {
			s := of(cascading()).older(true, edit)
			plan := Decide(s.Facts, s.Options)
			w := plan.Steps[0].Work
			w.Generation++
			rules := w.Spec.DeleteOption
			if len(w.Spec.Workload.Manifests) != 3 || rules == nil || len(rules.SelectivelyOrphan.OrphaningRules) != 2 ||
				work.ReportOf(w).SideManifestsKept() {
				t.Fatalf("%d manifests, %+v", len(w.Spec.Workload.Manifests), rules)
			}
			if work.IsReadOnly(w) {
				t.Error("it is still disabled")
			}
			reports("Healthy")(w)
			s.Own = w
			plan = Decide(s.Facts, s.Options)
			if len(plan.Steps) != 1 || len(plan.Steps[0].Work.Spec.Workload.Manifests) != 1 || plan.Steps[0].Work.Spec.DeleteOption != nil {
				t.Errorf("%q", outline(&plan))
			}
		})
	}
}

// TestOlderMoved: the copy left on the former cluster by a move under an older controller stays there, and a
// condition describes the copy.
func TestOlderMoved(t *testing.T) {
	const told = "MoveWarning Moving"
	left := func(b *fixture.ApplicationBuilder, disabled bool, edits ...func(*workv1.ManifestWork)) func(*situation) {
		return func(s *situation) {
			s.Others = append(s.Others, olderWork(b.Annotation(apis.AnnotationCluster, "cluster2").Obj(), disabled, edits...))
		}
	}
	oldFirst := func() *fixture.ApplicationBuilder {
		return cascading().Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
	}
	earlier := func(w *workv1.ManifestWork) { w.Name = "guestbook-99999" }
	decides(t, map[string]row{
		"healthy": {
			is:   of(cascading()).own(t, reports("Healthy")).with(left(cascading(), false)),
			want: []string{told}, says: "delete ManifestWork cluster2/"},
		"healthy, disabled": {
			is: of(cascading()).own(t, reports("Healthy")).with(left(cascading(), true)), want: []string{told}, says: "cluster cluster2 keeps a copy " +
				"from an older controller"},
		"not healthy in time": {
			is: of(cascading()).own(t).with(left(cascading(), false), func(s *situation) { s.Move.Timeout = 0 }), want: []string{told}},
		"of a set, without the label": {
			is:   of(ofSet()).own(t, reports("Healthy")).with(left(ofSet(), false)),
			want: []string{told, "after 1m0s"}},
		"of an earlier one": {
			is: of(cascading()).own(t, reports("Healthy")).with(left(cascading(), false, earlier)), want: []string{told}},
		"going": {
			is: of(cascading()).own(t, reports("Healthy")).with(left(cascading(), false, goingAway)), want: []string{told}, says: "waiting for cluster"},
		"both by an older": {
			is: of(cascading()).older(true).with(left(cascading(), true)), want: []string{"update cluster1", told}},
		"not sent": {
			is: of(cascading()).with(left(cascading(), false)), want: []string{"create cluster1", "  event Propagated", told}},
		"old first": {is: of(oldFirst()).with(left(oldFirst(), false)), want: []string{told}, says: "delete ManifestWork cluster2/"},
		"beside one of Towline's": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster3", fixture.UID).cluster("cluster3").with(left(cascading(), false)),
			want: []string{"delete cluster3", "  event WorkDeleted", told}, says: "cluster cluster2 keeps a copy from an older controller"},
		"deleted": {
			is:   of(deletedApp(cascading())).own(t).with(left(deletedApp(cascading()), false)),
			want: []string{"update cluster2", "delete cluster1", "  event WorkDeleted", deletionWaits}},
	})
}

// unlabelled removes the label by which the cache selects works.
func unlabelled(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) }

// TestOlderGetsTheLabelOfAwaitedWorks: the cache selects works by the pull label. Towline adds the label to an awaited
// work, and the cache then reports the awaited change. On a paused cluster, Towline checks the work again later instead.
func TestOlderGetsTheLabelOfAwaitedWorks(t *testing.T) {
	ends := func() *fixture.ApplicationBuilder { return deletedApp(ofSet()) }
	released := func(w *workv1.ManifestWork) {
		releasedAnd(false)(w)
		unlabelled(w)
	}
	for title, s := range map[string]*situation{
		"deleted, and what it holds beside is not applied": of(ends()).older(false, notApplied),
		"gone, and what it holds beside is not applied":    of(ofSet()).older(false, notApplied).gone(),
		"told to be released":                              of(ofSet().Annotation(apis.AnnotationRelease, "true")).older(false, released),
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(s.Facts, s.Options)
			if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate || plan.Steps[0].Work.Labels[apis.LabelPull] != "true" {
				t.Errorf("nobody sees its end: %q", outline(&plan))
			}
		})
	}
	decides(t, map[string]row{
		"gone, told of, on a paused cluster": {is: of(ofSet()).older(false).cluster("cluster1", pausedCluster).gone(), want: []string{"after 1m0s"}},
		"gone, lost, on a paused cluster": {
			is: of(ofSet()).older(false).cluster("cluster1", pausedCluster).gone().with(lostOne), want: []string{"after 1m0s"}},
	})
}

// TestSameWorkOfAnOlderController: the agent's report about one manifest wakes the controller, even if the agent could
// not apply the others.
func TestSameWorkOfAnOlderController(t *testing.T) {
	before := olderWork(cascading().Obj(), false, notApplied)
	before.Status.Conditions[0].Status, before.Status.Conditions[0].ObservedGeneration = metav1.ConditionFalse, before.Generation
	after := before.DeepCopy()
	for _, m := range after.Status.ResourceStatus.Manifests[:2] {
		for j := range m.Conditions {
			m.Conditions[j].ObservedGeneration = after.Generation
		}
	}
	if work.ReportOf(before).SideManifestsKept() || !work.ReportOf(after).SideManifestsKept() {
		t.Fatalf("the side manifests are kept: %t, then %t", work.ReportOf(before).SideManifestsKept(), work.ReportOf(after).SideManifestsKept())
	}
	if SameWork(before, after) {
		t.Error("nothing wakes what waits for that")
	}
}

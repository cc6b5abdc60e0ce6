package delivery

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// disabled makes a work as disabled by an older controller, at its start without the pull model. The agent reports an
// apply, although the agent has applied nothing.
func disabled(w *workv1.ManifestWork) {
	w.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
	w.Generation++
	reports("Healthy", "syncStatus", "Synced", "reconciledAt", "2026-11-22T12:16:45Z")(w)
}

// carrying puts a request into a work.
func carrying(r work.Request) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		held, _ := work.Carried(w)
		if err := work.Carry(w, held, r); err != nil {
			panic(err)
		}
		sent := relay.Sent{State: relay.OnItsWay, ID: "1-x", Version: r.Version, Digest: relay.Digest(r.Operation)}
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, apis.AnnotationRequestSent, sent.String())
		w.Generation++
	}
}

// TestDisabledIsRestored: a work of Towline returns to exactly its earlier form, for each rule of adoption. Without
// other changes, the work is written once.
func TestDisabledIsRestored(t *testing.T) {
	for title, tc := range map[string]struct {
		edits []func(*workv1.ManifestWork)
		mode  work.UpdateMode
	}{
		"with force":        {mode: work.ForceApply},
		"without force":     {edits: []func(*workv1.ManifestWork){claimsBy(work.Apply)}, mode: work.Apply},
		"only to create it": {edits: []func(*workv1.ManifestWork){claimsBy(work.CreateOnly)}, mode: work.CreateOnly},
		"an operation": {
			edits: []func(*workv1.ManifestWork){carrying(work.Request{Operation: []byte(`{"sync":{}}`), Version: "5"})}, mode: work.ForceApply},
		"an operation without force": {
			edits: []func(*workv1.ManifestWork){
				carrying(work.Request{Operation: []byte(`{"sync":{}}`), Version: "5"}), claimsBy(work.Apply)}, mode: work.Apply},
		"a termination": {edits: []func(*workv1.ManifestWork){carrying(work.Request{Version: "5"})}, mode: work.ForceApply},
	} {
		for _, adopt := range []string{apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways} {
			t.Run(title+", "+adopt, func(t *testing.T) {
				s := of(cascading()).own(t, tc.edits...).adopting(adopt)
				before := s.Own.DeepCopy()
				s.with(func(s *situation) { disabled(s.Own) })
				plan := Decide(s.Facts, s.Options)
				if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate || len(plan.Conditions) > 0 || plan.Hub != nil {
					t.Fatalf("%q, %v", outline(&plan), plan.Conditions)
				}
				w := plan.Steps[0].Work
				if work.UpdateModeOf(w) != tc.mode || !work.SameSpec(&w.Spec, &before.Spec) {
					t.Errorf("it is %+v\nand was %+v", w.Spec.ManifestConfigs[0].UpdateStrategy, before.Spec.ManifestConfigs[0].UpdateStrategy)
				}
			})
		}
	}
	t.Run("once", func(t *testing.T) {
		s := of(cascading()).adopting(apis.AdoptNever)
		s.App.Status.ReconciledAt = "2026-11-22T12:16:45Z"
		s.own(t, claimsBy(work.Apply), disabled)
		plan := Decide(s.Facts, s.Options)
		s.Own = plan.Steps[0].Work
		s.Own.Generation++
		reports("Healthy", "syncStatus", "Synced", "reconciledAt", "2026-11-22T12:16:45Z")(s.Own)
		if again := Decide(s.Facts, s.Options); len(again.Steps) > 0 || len(again.Conditions) > 0 {
			t.Errorf("it is written again: %q", outline(&again))
		}
	})
}

// TestDisabled: a disabled work returns to its earlier form before any other change, if Towline may write the work.
func TestDisabled(t *testing.T) {
	looked := func(w *workv1.ManifestWork) {
		work.SetUpdateMode(w, work.ReadOnly)
		disabled(w)
	}
	releases := func() *fixture.ApplicationBuilder { return cascading().Annotation(apis.AnnotationRelease, "true") }
	ends := func() *fixture.ApplicationBuilder { return deletedApp(cascading()) }
	decides(t, map[string]row{
		"changed on the hub": {is: of(cascading().Label("x", "y")).own(t, disabled), want: []string{"update cluster1"}},
		"paused": {
			is: of(cascading()).own(t, disabled).with(func(s *situation) { s.Paused = "it" }), want: []string{"PausedWarning Paused"}},
		"on a paused cluster, deleted": {
			is: of(ends()).own(t, disabled).cluster("cluster1", pausedCluster), want: []string{"PausedWarning Paused"}},
		"not permitted": {
			is:   of(cascading()).own(t, disabled).with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"Towline's own, which only looks": {
			is: of(cascading()).own(t, looked).adopting(apis.AdoptNever), want: []string{"PropagationError AdoptionRefused"}},
		"deleted": {is: of(ends()).own(t, disabled), want: []string{"update cluster1", deletionWaits}},
		"deleted, not seen": {
			is: of(ends()).own(t, disabled, unseenYet), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"deleted, and an operation was on its way": {
			is:   of(ends()).own(t, carrying(work.Request{Operation: []byte(`{"sync":{}}`), Version: "5"}), disabled),
			want: []string{"update cluster1", deletionWaits}},
		"released":                 {is: of(releases()).own(t, disabled), want: []string{"update cluster1", releaseWaits}},
		"being released":           {is: of(releases()).own(t, releasedAnd(true), disabled), want: []string{"update cluster1", releaseWaits}},
		"being released, not seen": {is: of(releases()).own(t, disabled, unseenYet), want: []string{"delete cluster1", "  event Released", releaseWaits}},
		"being released, and gone": {is: of(cascading()).own(t, releasedAnd(true), disabled).gone(), want: []string{"update cluster1"}},
		"gone":                     {is: of(cascading()).own(t, disabled).gone(), want: []string{"update cluster1"}},
		"gone, and lost":           {is: of(cascading()).own(t, disabled).gone().with(lostOne), want: []string{"update cluster1", "  event Orphaned"}},
		"of the cluster before": {
			is: of(cascading()).own(t, reports("Healthy")).at(t, "cluster2", fixture.UID, disabled), want: []string{"update cluster2", "MoveWarning Moving"}},
	})
}

// TestDisabledIsNoAnswer: the agent of a disabled work has applied nothing, and has not delivered an operation.
func TestDisabledIsNoAnswer(t *testing.T) {
	w := workFor(t, cascading().Obj(), carrying(work.Request{Operation: []byte(`{"sync":{}}`), Version: "5"}), disabled)
	if outcome := work.Outcome(w); outcome != "" || work.ReportOf(w).Applied() || unfinished(work.ReportOf(w), relay.Cluster{Version: "5"}, true) {
		t.Errorf("the agent is said to have applied it: %q", outcome)
	}
}

// TestSwitchedOff: a work of an older controller, set to ReadOnly by the older controller, first returns to its earlier
// mode with the same content, like a work of Towline. Only the takeover needs no earlier write.
func TestSwitchedOff(t *testing.T) {
	for title, b := range map[string]*fixture.ApplicationBuilder{
		"deleted":              deletedApp(cascading()),
		"released":             cascading().Annotation(apis.AnnotationRelease, "true"),
		"to another namespace": cascading().Annotation(apis.AnnotationAppNamespace, "apps"),
	} {
		t.Run(title, func(t *testing.T) {
			s := of(b)
			s.Own = olderWork(cascading().Obj(), true)
			before := s.Own.DeepCopy()
			plan := Decide(s.Facts, s.Options)
			if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate {
				t.Fatalf("%q", outline(&plan))
			}
			w := plan.Steps[0].Work
			if work.IsReadOnly(w) || work.UpdateModeOf(w) != work.ForceApply {
				t.Errorf("it is %+v", w.Spec.ManifestConfigs[0].UpdateStrategy)
			}
			w = w.DeepCopy()
			w.Spec.ManifestConfigs[0].UpdateStrategy = before.Spec.ManifestConfigs[0].UpdateStrategy
			if !work.SameSpec(&before.Spec, &w.Spec) {
				t.Errorf("the content differs: %+v", w.Spec)
			}
		})
	}
}

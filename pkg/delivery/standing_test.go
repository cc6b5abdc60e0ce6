package delivery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// TestStanding: the state of an Application, and its start, from the objects.
func TestStanding(t *testing.T) {
	earlier := now.Add(-time.Hour)
	marked := func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphanedAt] = earlier.Format(time.RFC3339) }
	awaySince := func(f *managedcluster.Facts) { away(f); f.Since = earlier.Unix() }
	known := func(c string) func(*situation) { // the Application has shown the condition for an hour, with the same message
		return func(s *situation) {
			plan := Decide(s.Facts, s.Options)
			s.App.Status.Conditions = plan.Hub.Conditions
			for i := range s.App.Status.Conditions {
				if s.App.Status.Conditions[i].Type == c {
					s.App.Status.Conditions[i].LastTransitionTime = &metav1.Time{Time: earlier}
				}
			}
		}
	}
	paused := app().Annotation(apis.AnnotationPaused, "true")
	pausing := func(s *situation) { s.Paused = "Application argocd/guestbook" }
	for title, tc := range map[string]struct {
		is   *situation
		want Standing
	}{
		"a new one":               {of(app()), Standing{State: Pending}},
		"one that is not applied": {of(app()).own(t, unseenYet), Standing{State: Pending}},
		"one that is applied":     {of(app()).own(t), Standing{State: Delivered, Applied: true}},
		"on a cluster that is away": {
			of(app()).own(t).cluster("cluster1", awaySince), Standing{State: Stale, Since: time.Unix(earlier.Unix(), 0), Applied: true}},
		"on a cluster that was never there": {of(app()).own(t, unseenYet).cluster("cluster1", away), Standing{State: Stale}},
		"that cannot be sent": {
			of(app().Cluster("")), Standing{State: Blocked, Reason: "ClusterAnnotationMissing", Since: now}},
		"that could not be sent before": {
			of(app().Cluster("")).with(known("PropagationError")), Standing{State: Blocked, Reason: "ClusterAnnotationMissing", Since: earlier}},
		"that may not be sent": {
			of(app()).with(func(s *situation) { s.Refused = refusal() }), Standing{State: Blocked, Reason: "ClusterForbidden", Since: now}},
		"that cannot be sent, to a cluster that is away": {
			of(app().Spec(`[]`)).cluster("cluster1", awaySince), Standing{State: Blocked, Reason: "SpecInvalid", Since: now}},
		"paused":               {of(paused).own(t).with(pausing), Standing{State: PausedState, Since: now, Applied: true}},
		"paused for long":      {of(paused).own(t).with(pausing, known("PausedWarning")), Standing{State: PausedState, Since: earlier, Applied: true}},
		"deleted, and paused":  {of(deletedApp(cascading())).own(t).with(pausing), Standing{State: PausedState, Since: now}},
		"deleted":              {of(deletedApp(cascading())).own(t), Standing{State: Deleting, Since: now}},
		"being released":       {of(app().Annotation(apis.AnnotationRelease, "true")).own(t), Standing{State: ReleasedState, Since: now}},
		"without its label":    {of(app().NoLabel(apis.LabelPull)).own(t), Standing{State: ReleasedState, Since: now}},
		"of somebody else":     {of(app().NoLabel(apis.LabelPull)), Standing{}},
		"that moves":           {of(app()).at(t, "cluster2", fixture.UID), Standing{State: Moving, Since: now}},
		"gone, and cleared up": {of(app()).gone(), Standing{}},
		"gone":                 {of(app()).own(t).gone(), Standing{State: Deleting}},
		"gone, and released":   {of(app()).own(t, releasedAnd(true)).gone(), Standing{State: ReleasedState}},
		"lost": {
			of(app()).own(t).gone().with(func(s *situation) { s.Loss.Lost = true }), Standing{State: Orphaned}},
		"lost, and marked": {
			of(app()).own(t, marked).gone().with(func(s *situation) { s.Loss.Lost = true }), Standing{State: Orphaned, Since: earlier}},
		"lost, and it ended since": {of(app()).own(t, marked).gone(), Standing{State: Deleting}},
		"not in the cache yet":     {of(app()).with(func(s *situation) { s.Presence, s.App = Behind, nil }), Standing{}},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			if got := plan.Standing(&tc.is.Facts); got.State != tc.want.State || got.Reason != tc.want.Reason ||
				got.Applied != tc.want.Applied || !got.Since.Equal(tc.want.Since) {
				t.Errorf("got  %+v\nwant %+v\nof %q", got, tc.want, outline(&plan))
			}
		})
	}
}

// TestWaits: the states whose age matters to an administrator.
func TestWaits(t *testing.T) {
	for state, want := range map[State]bool{
		Orphaned: true, PausedState: true, Deleting: true, Blocked: true, Moving: true, Stale: true, Pending: true,
		Delivered: false, ReleasedState: false, "": false,
	} {
		if state.Waits() != want {
			t.Errorf("%q waits: %t", state, !want)
		}
	}
}

// TestRefreshed: a plan reports the end of a user's refresh, and not the end of Towline's own refresh.
func TestRefreshed(t *testing.T) {
	for kind, want := range map[string]string{"hard": RefreshDropped, apis.RefreshSpecChanged: "", "": ""} {
		b := app()
		if kind != "" {
			b = b.Annotation(apis.AnnotationRefresh, kind)
		}
		s := of(b).cluster("cluster1", missingCluster)
		if plan := Decide(s.Facts, s.Options); plan.Refreshed != want {
			t.Errorf("%q: got %q, want %q", kind, plan.Refreshed, want)
		}
	}
}

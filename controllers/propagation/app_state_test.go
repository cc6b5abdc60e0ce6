package propagation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// Times of the tests about states.
var (
	stateNow = time.Unix(1_700_000_000, 0).UTC()
	anHour   = stateNow.Add(-time.Hour)
)

// plannedState returns the state of an Application without works, after edits of the facts. The Application can be sent to
// cluster1, and all rare facts are known.
func plannedState(b *fixture.ApplicationBuilder, edits ...func(*delivery.Facts)) (is appState, delivered bool) {
	app := b.Obj()
	f := &delivery.Facts{
		Now: stateNow, App: app, Presence: delivery.Present, Known: delivery.FactSet(1<<20 - 1),
		Key: types.NamespacedName{Namespace: app.Namespace, Name: app.Name},
		Clusters: map[string]managedcluster.Facts{
			"cluster1": {Name: "cluster1", Exists: true, Accepted: true, Ready: true},
			"cluster2": {Name: "cluster2", Exists: true, Accepted: true, Ready: true},
		},
	}
	_, f.Unreadable = authorization.ReadSpec(app)
	if app.Labels[apis.LabelPull] == "" {
		f.Presence = delivery.Unlabelled
	}
	for _, edit := range edits {
		edit(f)
	}
	plan := decided(f)
	return appStateOf(&plan, f), applied(&plan, f)
}

func decided(f *delivery.Facts) delivery.Plan {
	return delivery.Decide(*f, delivery.Options{Adopt: apis.AdoptMatching, AfterRestore: delivery.AfterRestoreHold})
}

// seenWork returns the Application's work on a cluster, applied by the agent.
func seenWork(f *delivery.Facts, cluster string) *workv1.ManifestWork {
	app := f.App.DeepCopy()
	app.Annotations[apis.AnnotationCluster] = cluster
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		panic(err)
	}
	w.UID, w.Generation, w.Finalizers = types.UID("uid-"+cluster), 1, []string{workv1.ManifestWorkFinalizer}
	fixture.Report(w, fixture.Feedback(work.Resource(w)).Obj())
	return w
}

func withOwn(f *delivery.Facts) { f.Own = seenWork(f, "cluster1") }

func withUnseen(f *delivery.Facts) {
	withOwn(f)
	f.Own.Finalizers, f.Own.Status = nil, workv1.ManifestWorkStatus{}
}

func withFormer(f *delivery.Facts) {
	f.Others = append(f.Others, seenWork(f, "cluster2"))
}

// withReleased adds a work that its agent has released.
func withReleased(f *delivery.Facts) {
	released, err := work.Release(seenWork(f, "cluster1"), nil)
	if err != nil {
		panic(err)
	}
	released.Generation++
	fixture.Report(released, fixture.Feedback(work.Resource(released)).Obj())
	f.Own = released
}

func marked(f *delivery.Facts) {
	f.Own.Annotations[apis.AnnotationOrphanedAt] = anHour.Format(time.RFC3339)
}

// gone is the time after the end of the Application.
func gone(f *delivery.Facts) {
	if f.Own != nil {
		f.Others = append(f.Others, f.Own)
	}
	f.Presence, f.App, f.Own = delivery.Gone, nil, nil
}

func lost(f *delivery.Facts) { f.Loss.Lost = true }

func paused(f *delivery.Facts) { f.Paused = "Application argocd/guestbook" }

func notPermitted(f *delivery.Facts) {
	f.Refused = &authorization.Refusal{Reason: apis.ReasonClusterForbidden, Message: "no set has the cluster"}
}

// away makes cluster1 unreachable since the time; zero for a cluster that was never reachable.
func away(since int64) func(*delivery.Facts) {
	return func(f *delivery.Facts) {
		c := f.Clusters["cluster1"]
		c.Unreachable, c.Since = "cluster1 has not been available since 2026.", since
		f.Clusters["cluster1"] = c
	}
}

// shownFor lets the Application show the conditions of its plan, the given condition for an hour.
func shownFor(conditionType string) func(*delivery.Facts) {
	return func(f *delivery.Facts) {
		f.App.Status.Conditions = decided(f).Hub.Conditions
		for i := range f.App.Status.Conditions {
			if c := &f.App.Status.Conditions[i]; c.Type == conditionType {
				c.LastTransitionTime = &metav1.Time{Time: anHour}
			}
		}
	}
}

// TestAppState: the state of an Application, and its start, from the objects.
func TestAppState(t *testing.T) {
	type edits = []func(*delivery.Facts)
	app := func() *fixture.ApplicationBuilder { return fixture.Application("guestbook") }
	unnamed := app().Cluster("")
	unsent := app().NoLabel(apis.LabelPull)
	release := app().Annotation(apis.AnnotationRelease, "true")
	pausing := app().Annotation(apis.AnnotationPaused, "true")
	deleted := app().Finalizers(apis.FinalizerResources).Deleted(stateNow)
	for title, tc := range map[string]struct {
		app     *fixture.ApplicationBuilder
		edits   edits
		want    appState
		applied bool
	}{
		"new":                           {app(), nil, appState{state: statePending}, false},
		"not applied":                   {app(), edits{withUnseen}, appState{state: statePending}, false},
		"applied":                       {app(), edits{withOwn}, appState{state: stateDelivered}, true},
		"on an unreachable cluster":     {app(), edits{withOwn, away(anHour.Unix())}, appState{state: stateStale, since: anHour}, true},
		"on a cluster never reachable":  {app(), edits{withUnseen, away(0)}, appState{state: stateStale}, false},
		"not sendable":                  {unnamed, nil, appState{stateBlocked, "ClusterAnnotationMissing", stateNow}, false},
		"not sendable for an hour":      {unnamed, edits{shownFor("PropagationError")}, appState{stateBlocked, "ClusterAnnotationMissing", anHour}, false},
		"forbidden":                     {app(), edits{notPermitted}, appState{stateBlocked, "ClusterForbidden", stateNow}, false},
		"not sendable, and unreachable": {app().Spec(`[]`), edits{away(anHour.Unix())}, appState{stateBlocked, "SpecInvalid", stateNow}, false},
		"paused":                        {pausing, edits{withOwn, paused}, appState{state: statePaused, since: stateNow}, true},
		"paused for an hour":            {pausing, edits{withOwn, paused, shownFor("PausedWarning")}, appState{state: statePaused, since: anHour}, true},
		"deleted, and paused":           {deleted, edits{withOwn, paused}, appState{state: statePaused, since: stateNow}, false},
		"deleted":                       {deleted, edits{withOwn}, appState{state: stateDeleting, since: stateNow}, false},
		"being released":                {release, edits{withOwn}, appState{state: stateReleased, since: stateNow}, false},
		"without its label":             {unsent, edits{withOwn}, appState{state: stateReleased, since: stateNow}, false},
		"of another owner":              {unsent, nil, appState{}, false},
		"moving":                        {app(), edits{withFormer}, appState{state: stateMoving, since: stateNow}, false},
		"gone, with its works":          {app(), edits{gone}, appState{}, false},
		"gone":                          {app(), edits{withOwn, gone}, appState{state: stateDeleting}, false},
		"gone, and released":            {app(), edits{withReleased, gone}, appState{state: stateReleased}, false},
		"lost":                          {app(), edits{withOwn, gone, lost}, appState{state: stateOrphaned}, false},
		"lost, and marked":              {app(), edits{withOwn, marked, gone, lost}, appState{state: stateOrphaned, since: anHour}, false},
		"lost, and deleted since":       {app(), edits{withOwn, marked, gone}, appState{state: stateDeleting}, false},
		"not in the cache yet":          {app(), edits{func(f *delivery.Facts) { f.Presence, f.App = delivery.Behind, nil }}, appState{}, false},
	} {
		t.Run(title, func(t *testing.T) {
			is, applied := plannedState(tc.app, tc.edits...)
			if is.state != tc.want.state || is.reason != tc.want.reason || !is.since.Equal(tc.want.since) || applied != tc.applied {
				t.Errorf("got  %+v, %t\nwant %+v, %t", is, applied, tc.want, tc.applied)
			}
		})
	}
}

// TestWaits: the states whose age matters to an administrator.
func TestWaits(t *testing.T) {
	for s, want := range map[state]bool{
		stateOrphaned: true, statePaused: true, stateDeleting: true, stateBlocked: true, stateMoving: true, stateStale: true, statePending: true,
		stateDelivered: false, stateReleased: false, "": false,
	} {
		if s.waits() != want {
			t.Errorf("%q waits: %t", s, !want)
		}
	}
}

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

// lostFor makes a cluster unavailable for the duration until now, and backFor makes a cluster available for the
// duration until now.
func lostFor(d time.Duration) func(*managedcluster.Facts) {
	return func(f *managedcluster.Facts) {
		away(f)
		f.Since = now.Add(-d).Unix()
	}
}

func backFor(d time.Duration) func(*managedcluster.Facts) {
	return func(f *managedcluster.Facts) { f.Since = now.Add(-d).Unix() }
}

func returnsWithin(d time.Duration) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		w.Annotations[apis.AnnotationReturnsBy] = now.Add(d).Format(time.RFC3339)
	}
}

// TestOutage: an ApplicationSet deletes an Application, because the Placement has dropped an unavailable cluster.
func TestOutage(t *testing.T) {
	const (
		heldNow = "DeletionWarning HeldInOutage"
		over    = "DeletionWarning OutageOver"
		goes    = "delete cluster1"
		told    = "  event WorkDeleted"

		pausedThere = "DeletionWarning Paused"
	)
	deletedAgo := func(d time.Duration) *fixture.ApplicationBuilder {
		return cascading().ApplicationSet("shops").Deleted(now.Add(-d))
	}
	followed := func(s *situation) { s.Choice = Choice{Set: "argocd/shops"} }
	chosen := func(s *situation) { s.Choice = Choice{Set: "argocd/shops", Chosen: true} }
	lost := func(b *fixture.ApplicationBuilder) *situation {
		return of(b).own(t).cluster("cluster1", lostFor(time.Hour)).with(followed)
	}
	old := func(w *workv1.ManifestWork) { w.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour)) }
	back := func(b *fixture.ApplicationBuilder, after time.Duration) *situation {
		return of(b).own(t, old).cluster("cluster1", backFor(after)).with(followed)
	}
	asToday := []string{goes, told, deletionWaits}
	decides(t, map[string]row{
		"away":          {is: lost(deletedAgo(time.Minute)), want: []string{heldNow}, says: "set the annotation " + apis.AnnotationDeleteOnOutage},
		"not looked at": {is: lost(deletedAgo(time.Minute)).with(func(s *situation) { s.Known = 0 }), want: []string{"needs choice"}},
		"away, and no decision is watched": {
			is: lost(deletedAgo(time.Minute)).with(func(s *situation) { s.Choice.Unwatched = true }), want: []string{heldNow, "after 1m0s"}},
		"away, and still chosen": {is: lost(deletedAgo(time.Minute)).with(chosen), want: asToday},
		"away again, before the return of the Application": {
			is: lost(deletedAgo(2 * time.Hour)).with(chosen), want: []string{heldNow}, says: "still chooses the cluster"},
		"away, and by no Placement":      {is: lost(deletedAgo(time.Minute)).with(func(s *situation) { s.Choice = Choice{} }), want: asToday},
		"away, and of no ApplicationSet": {is: lost(cascading().Deleted(now)), want: asToday},
		"away, and asked to go": {
			is: lost(deletedAgo(time.Minute).Annotation(apis.AnnotationDeleteOnOutage, "true")), want: asToday},
		"away, and an odd word": {
			is: lost(deletedAgo(time.Minute).Annotation(apis.AnnotationDeleteOnOutage, "yes!")), want: []string{heldNow}, says: "not one of true, false"},
		"away, and forced": {
			is:   lost(deletedAgo(time.Minute).Annotation(apis.AnnotationForceDelete, "true")),
			want: []string{goes, told, noFinalizers, unconfirmed}},
		"away, and released": {
			is: lost(deletedAgo(time.Minute).Annotation(apis.AnnotationRelease, "true")), want: []string{"update cluster1", releaseWaits}},
		"away, and told to go before": {
			is: lost(deletedAgo(time.Minute)).with(func(s *situation) { goingAway(s.Own) }), want: []string{deletionWaits}},
		"away, and its agent has not seen it": {
			is: lost(deletedAgo(time.Minute)).with(func(s *situation) { unseenYet(s.Own) }), want: asToday},
		"away, and its ManagedCluster goes": {
			is:   lost(deletedAgo(time.Minute)).cluster("cluster1", lostFor(time.Hour), dying),
			want: []string{goes, told, noFinalizers, unconfirmed}},
		"never available": {
			is: of(deletedAgo(time.Minute)).own(t).cluster("cluster1", away).with(followed), want: asToday},
		"back, and not looked at yet": {
			is: back(deletedAgo(time.Hour), time.Second), want: []string{heldNow, "after 1m59s"}, says: "if the Placement does not choose the cluster before"},
		"back, by a clock in the future": {
			is: back(deletedAgo(time.Hour), -time.Hour), want: []string{heldNow, "after 2m0s"}},
		"available since a moment ago, and sent afterwards": {
			is: back(deletedAgo(0), time.Minute).with(func(s *situation) { s.Own.CreationTimestamp = metav1.NewTime(now) }), want: asToday},
		"back, and not chosen": {is: back(deletedAgo(time.Hour), OutageGrace), want: asToday},
		"back, and chosen": {
			is: back(deletedAgo(time.Hour), time.Second).with(chosen), want: []string{"update cluster1", over}},
		"back, chosen, and remembered": {
			is:   back(deletedAgo(time.Hour), time.Minute).with(chosen, func(s *situation) { returnsWithin(ReturnWindow)(s.Own) }),
			want: []string{noFinalizers, over}},
		"back, chosen, and remembered long ago": {
			is:   back(deletedAgo(time.Hour), time.Minute).with(chosen, func(s *situation) { returnsWithin(time.Minute)(s.Own) }),
			want: []string{"update cluster1", over}},
		"back, chosen, and deleted by an earlier choice": {
			is: back(deletedAgo(0), time.Minute).with(chosen), want: []string{"update cluster1", over}},
		"back for long, and deleted": {is: back(deletedAgo(0), time.Hour).with(chosen), want: asToday},
		"back, chosen, and elsewhere too": {
			is:   back(deletedAgo(time.Hour), time.Second).at(t, "cluster2", fixture.UID).with(chosen),
			want: []string{"update cluster2", "update cluster1", over}},
		"back, chosen, and on a paused cluster too": {
			is:   back(deletedAgo(time.Hour), time.Second).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster).with(chosen),
			want: []string{"update cluster1", pausedThere}, says: "waits for the end of a pause: paused by the annotation"},
		"back, chosen, and remembered except on the paused cluster": {
			is: back(deletedAgo(time.Hour), time.Second).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster).
				with(chosen, func(s *situation) { returnsWithin(ReturnWindow)(s.Own) }),
			want: []string{pausedThere}, says: "on Namespace cluster2. After the pause"},
		"back, chosen, remembered, and paused since": {
			is: back(deletedAgo(time.Hour), time.Second).at(t, "cluster2", fixture.UID, returnsWithin(ReturnWindow)).cluster("cluster2", pausedCluster).
				with(chosen, func(s *situation) { returnsWithin(ReturnWindow)(s.Own) }),
			want: []string{noFinalizers, over}},

		"gone, within the time for the return": {
			is: of(cascading()).own(t, returnsWithin(time.Minute)).gone(), want: []string{"after 1m0s"}},
		"gone, and not recreated": {
			is: of(cascading()).own(t, returnsWithin(-time.Minute)).gone(), want: []string{"update cluster1", "  event LeftByOutage"}},
		"gone, not recreated, and with a request": {
			is: of(cascading()).own(t, returnsWithin(-time.Minute), carriesRequest).gone(), want: []string{"update cluster1"}},
		"gone, and decided by Towline": {
			is: of(cascading()).own(t, returnsWithin(-time.Minute), func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphaned] = AfterRestoreDelete
			}).gone(), want: []string{"update cluster1"}},
		"gone, and paused": {
			is: of(cascading()).own(t, returnsWithin(-time.Minute)).cluster("cluster1", pausedCluster).gone(), want: []string{}},
		"gone, by an odd time": {
			is: of(cascading()).own(t, returnsWithin(time.Hour)).gone(), want: []string{"update cluster1"}},
		"gone, and decided within the time for the return": {
			is: of(cascading()).own(t, returnsWithin(time.Minute), func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphaned] = AfterRestoreDelete
			}).gone(), want: []string{"update cluster1"}},
		"recreated": {
			is: of(cascading()).at(t, "cluster1", "22222", returnsWithin(time.Minute)), want: []string{"create cluster1", "  event Propagated"}},
		"recreated, and applied": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster1", "22222", returnsWithin(time.Minute)),
			want: []string{"delete cluster1", "  event WorkDeleted"}},
	})
}

// TestAnOutageIsDecidedTwice: Towline decides about the end of the hub's Application again with the facts from the
// API server.
func TestAnOutageIsDecidedTwice(t *testing.T) {
	app := cascading().ApplicationSet("shops").Deleted(now.Add(-time.Hour))
	s := of(app).own(t, returnsWithin(ReturnWindow), func(w *workv1.ManifestWork) {
		w.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	}).cluster("cluster1", backFor(time.Second))
	s.Choice = Choice{Set: "argocd/shops", Chosen: true}
	plan := Decide(s.Facts, s.Options)
	if got := plan.Destroys(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// TestAClustersTimeOfReturn: a cluster's own time of its return holds an Application for at most OutageGrace at a time.
func TestAClustersTimeOfReturn(t *testing.T) {
	s := of(cascading().ApplicationSet("shops").Deleted(now)).own(t).cluster("cluster1", func(f *managedcluster.Facts) {
		f.Since = metav1.NewTime(now.AddDate(1000, 0, 0)).Unix()
	})
	s.Choice = Choice{Set: "argocd/shops"}
	if plan := Decide(s.Facts, s.Options); plan.Wait.After != OutageGrace {
		t.Errorf("it looks again after %s", plan.Wait.After)
	}
}

package delivery

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

const (
	deletionWaits = "DeletionWarning Deleting"
	releaseWaits  = "ReleaseWarning Releasing"
	noFinalizers  = "hub: no finalizers of Argo CD's"
	unconfirmed   = "event DeletedUnconfirmed"
)

// carriesRequest puts a request without the agent's answer into a work.
func carriesRequest(w *workv1.ManifestWork) {
	w.Annotations[apis.AnnotationRequestSent] = relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "5", Digest: "d"}.String()
	w.Generation, w.Status = 2, workv1.ManifestWorkStatus{}
}

// runsAnOperation sets the report of an operation, started by a user on the cluster.
func runsAnOperation(w *workv1.ManifestWork) {
	reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", "2026-01-01T00:00:00Z")(w)
}

// unreadableThere puts an unreadable manifest into a work.
func unreadableThere(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(`7`) }

// told prepares a work for a deletion that keeps the workload, and sets the agent's answer.
func told(answer func(*workv1.ManifestWork)) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		out, _ := work.PrepareRemoval(w, nil)
		*w = *out
		w.Generation++
		answer(w)
	}
}

// cascadesAgain makes a work restore a finalizer removed on the cluster, and sets the agent's answer with the mark of
// the change.
func cascadesAgain(answer func(mark string) func(*workv1.ManifestWork)) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		reports("Healthy", "finalizer", "")(w)
		mark := strconv.FormatInt(w.Generation, 10)
		out, _ := work.PrepareRemoval(w, []string{apis.FinalizerResources})
		*w = *out
		w.Generation++
		answer(mark)(w)
	}
}

func TestEnd(t *testing.T) {
	ends := func() *fixture.ApplicationBuilder { return deletedApp(cascading()) }
	forced := func(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder {
		return b.Annotation(apis.AnnotationForceDelete, "true")
	}
	refusedThere := refuses("no right")
	decides(t, map[string]row{
		"sent":       {is: of(ends()).own(t), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"going":      {is: of(ends()).own(t, goingAway), want: []string{deletionWaits}, says: "waiting for cluster cluster1"},
		"never sent": {is: of(ends()), want: []string{noFinalizers}},
		"never sent, and looked for": {
			is: of(ends()).with(func(s *situation) { s.Known = 0 }), want: []string{"needs own"}},
		"sent, and not in the cache": {
			is: of(ends()).own(t, goingAway).with(func(s *situation) { s.OwnUnwatched = true }), want: []string{deletionWaits, "after 5s"}},
		"without a finalizer": {is: of(deletedApp(app())).own(t), want: []string{}},
		"with one of others and Argo CD's for hooks": {
			is:   of(deletedApp(app().Finalizers(apis.FinalizerPostDelete, "mine"))).own(t),
			want: []string{"update cluster1", deletionWaits}},
		"to leave all, and not said there": {
			is:   of(deletedApp(app().Finalizers(apis.FinalizerPostDelete))).own(t, told(refusedThere)),
			want: []string{"update cluster1", deletionWaits}},
		"unseen": {is: of(ends()).own(t, unseenYet), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"unseen, and made anew": {is: of(ends()).own(t, unseenYet, func(w *workv1.ManifestWork) {
			w.Annotations[apis.AnnotationRecreated] = "then"
		}), want: []string{deletionWaits}},
		"its finalizer was removed there": {is: of(ends()).own(t, reports("Healthy", "finalizer", "")),
			want: []string{"update cluster1", deletionWaits}},
		"its finalizer was removed there, and is back": {
			is: of(ends()).own(t, cascadesAgain(func(mark string) func(*workv1.ManifestWork) {
				return reports("Healthy", "finalizersDropped", mark, "finalizerLeft", apis.FinalizerResources)
			})), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"its finalizer was removed there again": {
			is: of(ends()).own(t, cascadesAgain(func(mark string) func(*workv1.ManifestWork) {
				return reports("Healthy", "finalizersDropped", mark)
			})), want: []string{deletionWaits}, says: "a writer on cluster cluster1 removes the finalizer " + apis.FinalizerResources},
		"put on just before": {is: of(ends()).with(func(s *situation) { s.Own = workFor(t, app().Obj()) }),
			want: []string{"update cluster1", deletionWaits}},
		"away": {is: of(ends()).own(t, goingAway).cluster("cluster1", away), want: []string{deletionWaits}, says: "to delete the Application " +
			"without confirmation"},
		"forced": {is: of(forced(ends())).own(t, goingAway), want: []string{noFinalizers, unconfirmed}},
		"forced, not gone": {
			is:   of(forced(ends())).own(t, runsAnOperation),
			want: []string{"delete cluster1", "  event WorkDeleted", noFinalizers, unconfirmed}},
		"forced with an odd word": {
			is:   of(ends().Annotation(apis.AnnotationForceDelete, "yes!")).own(t, goingAway),
			want: []string{deletionWaits}, says: "does not force the deletion"},
		"an odd word on release": {
			is: of(ends().Annotation(apis.AnnotationRelease, "no!")).own(t), want: []string{deletionWaits}, says: "Until the correction, the cluster " +
				"keeps everything"},
		"no such cluster any more": {is: of(ends()).own(t, goingAway).cluster("cluster1", missingCluster), want: []string{noFinalizers, unconfirmed}},
		"not accepted any more":    {is: of(ends()).own(t, goingAway).cluster("cluster1", notAccepted), want: []string{noFinalizers, unconfirmed}},
		"a cluster that goes":      {is: of(ends()).own(t, goingAway).cluster("cluster1", dying), want: []string{noFinalizers, unconfirmed}},
		"on two, one of which goes": {
			is:   of(ends()).own(t, goingAway).at(t, "cluster2", fixture.UID).cluster("cluster1", dying),
			want: []string{"delete cluster2", "  event WorkDeleted", deletionWaits}, says: "waiting for cluster cluster2 to remove"},
		"of an earlier one of its name, elsewhere": {
			is: of(ends()).at(t, "cluster2", "22222", goingAway), want: []string{noFinalizers}},
		"of an earlier one of its name, at its own target": {
			is: of(ends()).at(t, "cluster1", "22222", goingAway), want: []string{deletionWaits}},
		"paused": {
			is:   of(ends()).own(t).with(func(s *situation) { s.Paused = "this Application" }),
			want: []string{"PausedWarning Paused"}, says: "the deletion waits"},
		"paused elsewhere": {
			is:   of(ends()).own(t).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster),
			want: []string{"delete cluster1", "  event WorkDeleted", "PausedWarning Paused"}},
		"an operation runs": {is: of(ends()).own(t, runsAnOperation), want: []string{deletionWaits}, says: "to shorten the wait, terminate the " +
			"operation on the cluster"},
		"an operation runs, and the hub shows it": {
			is: of(ends().Runs("Running", "2026-01-01T00:00:00Z")).own(t, runsAnOperation), want: []string{deletionWaits}, says: "with kubectl"},
		"an operation runs, and is to stop": {
			is:   of(ends().Runs("Terminating", "2026-01-01T00:00:00Z")).own(t, runsAnOperation),
			want: []string{"update cluster1", deletionWaits}, says: "the operation was asked to stop"},
		"an operation runs, is to stop, and no version of it is asked for": {
			is: of(ends().Runs("Terminating", began)).with(func(s *situation) {
				s.Own = workFor(t, cascading().Reconciled(began).Obj(), runsAnOperation)
			}),
			want: []string{"update cluster1", deletionWaits}, says: "the operation was asked to stop"},
		"an operation runs, and no version of it is asked for": {
			is: of(ends().Runs("Running", began)).with(func(s *situation) {
				s.Own = workFor(t, cascading().Reconciled(began).Obj(), runsAnOperation)
			}),
			want: []string{deletionWaits}, says: "with kubectl"},
		"an operation runs, and other finalizers are there": {
			is: of(deletedApp(app().Finalizers(apis.FinalizerResources + "/background"))).with(func(s *situation) {
				s.Own = workFor(t, cascading().Obj(), runsAnOperation)
			}),
			want: []string{"update cluster1", deletionWaits}},
		"an operation runs on one that is away": {
			is: of(ends()).own(t, runsAnOperation).cluster("cluster1", away), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"an operation runs where it is not": {
			is: of(ends()).own(t, runsAnOperation, func(w *workv1.ManifestWork) {
				w.Status = fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).Condition(workv1.WorkAvailable, metav1.ConditionFalse, "").Obj()
			}), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"of the hub's own Argo CD": {
			is:   of(ends().NoAnnotation(apis.AnnotationSkipReconcile)).own(t),
			want: []string{"update cluster1", deletionWaits}, says: "meanwhile the Application is being released"},
		"of the hub's own Argo CD, without finalizers": {
			is: of(deletedApp(app().NoAnnotation(apis.AnnotationSkipReconcile))).own(t), want: []string{"update cluster1", releaseWaits}},
		"of the hub's own Argo CD, paused": {
			is:   of(ends().NoAnnotation(apis.AnnotationSkipReconcile)).own(t).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused"}},
		"released": {
			is:   of(ends().Annotation(apis.AnnotationRelease, "true")).own(t),
			want: []string{"update cluster1", releaseWaits}},
		"while it is released":  {is: of(ends()).own(t, releasedAnd(true)), want: []string{"update cluster1", deletionWaits}},
		"released, and nowhere": {is: of(ends().Annotation(apis.AnnotationRelease, "true")), want: []string{noFinalizers}},
		"released, and forced": {
			is:   of(forced(ends()).Annotation(apis.AnnotationRelease, "true")).own(t),
			want: []string{"update cluster1", noFinalizers, unconfirmed}},
		"no cluster named": {is: of(ends().Cluster("")).at(t, "cluster2", fixture.UID), want: []string{"update cluster2", releaseWaits}},
		"no cluster named, and away": {
			is:   of(ends().Cluster("")).at(t, "cluster2", fixture.UID).cluster("cluster2", away),
			want: []string{"update cluster2", releaseWaits}, says: "to delete the Application without confirmation"},
	})
}

func TestRelease(t *testing.T) {
	asks := func() *fixture.ApplicationBuilder { return cascading().Annotation(apis.AnnotationRelease, "true") }
	yes := func(s *situation) { s.Dependencies = map[types.UID]bool{s.all()[0].UID: true} }
	halted := func(s *situation) *situation { return s.with(func(s *situation) { s.Paused = "this Application" }) }
	decides(t, map[string]row{
		"sent": {is: of(asks()).own(t), want: []string{"update cluster1", releaseWaits}},
		"not applied": {
			is: of(asks()).own(t, releasedAnd(false)), want: []string{releaseWaits}, says: "waiting for the work agent of cluster cluster1"},
		"applied":              {is: of(asks()).own(t, releasedAnd(true)).with(yes), want: []string{"delete cluster1", "  event Released", releaseWaits}},
		"the work in deletion": {is: of(asks()).own(t, goingAway), want: []string{releaseWaits}},
		"unread facts":         {is: of(asks()).own(t, releasedAnd(true)).with(func(s *situation) { s.Known = 0 }), want: []string{"needs dependencies"}},
		"its dependencies would go": {
			is: of(asks()).own(t, releasedAnd(true)), want: []string{releaseWaits}},
		"unseen, and reported on": {is: of(asks().Health("Healthy")).own(t, unseenYet), want: []string{"update cluster1", releaseWaits}},
		"taken back":              {is: of(cascading()).own(t, releasedAnd(true)), want: []string{"update cluster1"}},
		"unseen":                  {is: of(asks()).own(t, unseenYet), want: []string{"delete cluster1", "  event Released", releaseWaits}},
		"done":                    {is: of(asks()), want: []string{"ReleaseWarning "}, says: "while the annotation"},
		"done, and an operation ran": {
			is: of(asks().Runs("Running", "x")), want: []string{"hub: no operationState", "ReleaseWarning "}},
		"paused": {is: of(asks()).own(t).cluster("cluster1", pausedCluster), want: []string{"PausedWarning Paused"}},
		"paused elsewhere": {
			is:   of(asks()).own(t).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster),
			want: []string{"update cluster1", "PausedWarning Paused"}, says: "the release waits"},
		"its label is gone, paused": {
			is: halted(of(cascading().NoLabel(apis.LabelPull)).own(t)), want: []string{"PausedWarning Paused"}, says: "the release waits"},
		"its label is gone, its cluster is paused": {
			is:   of(cascading().NoLabel(apis.LabelPull)).own(t).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused"}, says: "the release waits"},
		"its label is false, paused": {
			is:   halted(of(cascading().Label(apis.LabelPull, "false")).own(t)),
			want: []string{"PausedWarning Paused"}, says: "the release waits"},
		"its label is false, its cluster is paused": {
			is:   of(cascading().Label(apis.LabelPull, "false")).own(t).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused"}, says: "the release waits"},
		"no cluster is named, paused": {
			is: halted(of(cascading().Cluster("")).at(t, "cluster2", fixture.UID)), want: []string{"PausedWarning Paused"}},
		"no cluster is named, the old one is paused": {
			is:   of(cascading().Cluster("")).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster),
			want: []string{"PropagationError ClusterAnnotationMissing"}, says: "the release waits"},
		"carries a request": {is: of(asks()).own(t, carriesRequest), want: []string{"update cluster1", releaseWaits}},
		"carries a request, and the right is unread": {
			is: of(asks()).own(t, carriesRequest).with(func(s *situation) { s.Known = 0 }), want: []string{"needs return"}},
		"carries a request, and the Application is forbidden": {
			is: of(asks()).own(t, carriesRequest).with(func(s *situation) {
				s.Return = map[types.UID]*authorization.Refusal{s.Own.UID: refusal()}
			}), want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"cannot be read": {
			is:   of(asks()).own(t, func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(`7`) }),
			want: []string{"PropagationError SpecInvalid"}},
		"its label is false": {is: of(cascading().Label(apis.LabelPull, "false")).own(t), want: []string{"update cluster1", releaseWaits}},
		"its label is false, and no cluster has the Application": {
			is:   of(cascading().Label(apis.LabelPull, "false").Condition("ReleaseWarning", "old")),
			want: []string{"ReleaseWarning "}, says: "is not \"true\""},
		"its label is false, and it was never sent": {
			is: of(cascading().Label(apis.LabelPull, "false").Condition("PropagationError", "old")), want: []string{"hub: conditions go"}},
		"its label is false, deleted": {is: of(deletedApp(cascading().Label(apis.LabelPull, "false"))), want: []string{noFinalizers}},
		"its label is false, and Argo CD ends it": {
			is:   of(deletedApp(cascading().Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationSkipReconcile))).own(t),
			want: []string{"update cluster1", releaseWaits}},
		"its label is false, and Argo CD ends an Application on no cluster": {
			is: of(deletedApp(cascading().Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationSkipReconcile))), want: []string{}},
		"its label is false, deleted, without a cluster": {
			is:   of(deletedApp(cascading().Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationCluster))).at(t, "cluster2", fixture.UID),
			want: []string{"update cluster2", releaseWaits}, says: "waiting for the work agent of cluster cluster2"},
		"its label is false, deleted, without a cluster, with an unseen work": {
			is: of(deletedApp(cascading().Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationCluster))).
				at(t, "cluster2", fixture.UID, unseenYet),
			want: []string{releaseWaits}},
		"its label is false, deleted, without a cluster, with a shown condition": {
			is: of(deletedApp(cascading().Label(apis.LabelPull, "false").NoAnnotation(apis.AnnotationCluster).Condition("ReleaseWarning", "old"))).
				at(t, "cluster2", fixture.UID, unseenYet),
			want: []string{"delete cluster2", "  event Released", releaseWaits}},
		"its label is gone":              {is: of(cascading().NoLabel(apis.LabelPull)).own(t), want: []string{"update cluster1", releaseWaits}},
		"without a label from the start": {is: of(cascading().NoLabel(apis.LabelPull)), want: []string{}},
		"its label is gone, and the release is done": {
			is: of(cascading().NoLabel(apis.LabelPull).Health("Healthy")), want: []string{"ReleaseWarning "}, says: "is missing"},
		"its label is gone, after a release for want of a cluster": {
			is: of(cascading().NoLabel(apis.LabelPull).NoAnnotation(apis.AnnotationCluster).Health("Healthy").
				Condition(apis.ConditionPropagationError, "names no cluster")),
			want: []string{"ReleaseWarning "}, says: "is missing"},
		"its label is gone, deleted": {
			is: of(deletedApp(cascading().NoLabel(apis.LabelPull))), want: []string{noFinalizers, "event Released"}},
		"its label is gone, deleted without finalizers": {
			is:   of(deletedApp(app().NoLabel(apis.LabelPull))).with(func(s *situation) { s.Known = 0 }),
			want: []string{"needs own"}},
		"its label is gone, deleted, with an unwatched work": {
			is:   of(deletedApp(cascading().NoLabel(apis.LabelPull))).own(t).with(func(s *situation) { s.OwnUnwatched = true }),
			want: []string{"update cluster1", releaseWaits, "after 5s"}},
	})
}

func TestRevoke(t *testing.T) {
	const long = time.Hour
	lost := func(since time.Duration, which ...int) func(*situation) {
		return func(s *situation) {
			s.Revocation.Delete = true
			s.Revoked = map[types.UID]Revocation{}
			for i, w := range s.all() {
				if len(which) == 0 || i == which[0] {
					s.Revoked[w.UID] = Revocation{Refusal: refusal(), Since: now.Add(-since)}
				}
			}
		}
	}
	missing := func(s *situation) {
		s.Revocation.Delete = true
		s.Revoked = map[types.UID]Revocation{}
		for _, w := range s.all() {
			r := refusal()
			r.Missing = "the AppProject"
			s.Revoked[w.UID] = Revocation{Refusal: r}
		}
	}
	tooMany := func(s *situation) {
		lost(long)(s)
		for uid, r := range s.Revoked {
			r.TooMany = true
			s.Revoked[uid] = r
		}
	}
	const told = "PropagationForbiddenError ClusterForbidden"
	gone := []string{"delete cluster1", "  event WorkDeleted", "  event Revoked"}
	decides(t, map[string]row{
		"not set": {is: of(cascading()).own(t).with(lost(long), func(s *situation) { s.Revocation.Delete = false }), want: []string{}},
		"refused": {is: of(cascading()).own(t).with(lost(long)), want: gone},
		"refused a moment ago": {
			is: of(cascading()).own(t).with(lost(time.Second)), want: []string{told, "after 59s"}, says: "is asked to remove the Application at"},
		"refused a moment ago, and deleted": {
			is:   of(deletedApp(cascading())).own(t).with(lost(time.Second)),
			want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits, told, "after 59s"}},
		"refused a moment ago, and released": {
			is: of(cascading().Annotation(apis.AnnotationRelease, "true")).own(t).with(lost(time.Second)), want: []string{told, "after 59s"}},
		"the permission is missing": {is: of(cascading()).own(t).with(missing), want: []string{}},
		"the permission is missing, and the Application cannot be sent": {
			is: of(cascading()).own(t).with(missing, func(s *situation) { s.Refused = refusal() }), want: []string{told},
			says: "keeps the Application unchanged"},
		"the permission for an old cluster is missing": {
			is: of(cascading()).at(t, "cluster2", fixture.UID).with(missing), want: []string{"create cluster1", "  event Propagated", "MoveWarning Moving"}},
		"too many at a time": {
			is: of(cascading()).own(t).with(tooMany), want: []string{"PropagationForbiddenError RevocationHeld"}, says: "more than 10"},
		"on a paused cluster": {is: of(cascading()).own(t).with(lost(long)).cluster("cluster1", pausedCluster), want: []string{"PausedWarning Paused"}},
		"while paused": {
			is: of(cascading()).own(t).with(lost(long), func(s *situation) { s.Paused = "it" }), want: append(gone[:3:3], "PausedWarning Paused")},
		"a work in deletion": {is: of(cascading()).own(t, goingAway).with(lost(long)), want: []string{}},
		"without a cascade": {
			is: of(app()).own(t).with(lost(long)), want: []string{"update cluster1", told}, says: "being removed from cluster cluster1"},
		"on an old cluster": {
			is:   of(cascading()).own(t).at(t, "cluster2", fixture.UID).with(lost(long, 0)),
			want: []string{"delete cluster2", "  event WorkDeleted", "  event Revoked", "MoveWarning Moving", "after 59m0s"}},
		"on an old cluster, a moment ago": {
			is:   of(cascading()).own(t).at(t, "cluster2", fixture.UID).with(lost(time.Second, 0)),
			want: []string{"MoveWarning Moving", told, "after 59s"}},
	})
}

func TestOrphan(t *testing.T) {
	after := func(mode string) func(*situation) { return func(s *situation) { s.AfterRestore = mode } }
	lost := func(s *situation) { s.Loss.Lost = true }
	marked := func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphanedAt] = "then" }
	decides(t, map[string]row{
		"no work left": {is: of(app()).gone(), want: []string{}},
		"ended":        {is: of(cascading()).own(t).gone(), want: []string{"update cluster1"}},
		"ended, and answered": {
			is:   of(app()).own(t, told(reports("Healthy"))).gone(),
			want: []string{"update cluster1"}},
		"ended, and the cluster refuses": {
			is: of(app()).own(t, told(refuses("no right")), func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphaned] = AfterRestoreDelete
				w.Status.Conditions = append([]metav1.Condition{}, w.Status.Conditions...)
			}).gone(),
			want: []string{"event RemovalRefused"}},
		"ended, and the Application cannot be read": {
			is: of(app()).own(t, told(unreadThere), func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphaned] = AfterRestoreDelete
			}).gone(),
			want: []string{"event RemovalRefused", "after 20m0s"}},
		"ended, and foreign finalizers hold the Application": {
			is: of(app()).own(t, told(func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphaned] = AfterRestoreDelete
				held, _ := work.Carried(w)
				mark := held.Annotations[apis.AnnotationFinalizersDropped]
				reports("Healthy", "finalizersDropped", mark, "finalizerLeft", apis.FinalizerResources)(w)
			})).gone(),
			want: []string{"event RemovalRefused"}},
		"ended, unseen":    {is: of(app()).own(t, unseenYet).gone(), want: []string{"delete cluster1"}},
		"ended, going":     {is: of(app()).own(t, goingAway).gone(), want: []string{}},
		"ended, paused":    {is: of(app()).own(t).cluster("cluster1", pausedCluster).gone(), want: []string{}},
		"ended, released":  {is: of(app()).own(t, releasedAnd(false)).gone(), want: []string{}},
		"with a request":   {is: of(app()).own(t, carriesRequest).gone(), want: []string{"update cluster1"}},
		"not looked for":   {is: of(app()).own(t).gone().with(func(s *situation) { s.Known = 0 }), want: []string{"needs loss"}},
		"perhaps lost":     {is: of(app()).own(t).gone().with(func(s *situation) { s.Loss.Remaining = time.Second }), want: []string{"after 1s"}},
		"lost":             {is: of(app()).own(t).gone().with(lost), want: []string{"update cluster1", "  event Orphaned"}},
		"lost, and paused": {is: of(app()).own(t).cluster("cluster1", pausedCluster).gone().with(lost), want: []string{}},
		"lost, and marked": {is: of(app()).own(t, marked).gone().with(lost), want: []string{}},
		"lost, and a deletion was seen since": {
			is: of(app()).own(t, marked).gone().with(func(s *situation) { s.Loss = Loss{} }), want: []string{"update cluster1"}},
		"lost, to be adopted": {is: of(app()).own(t).gone().with(lost, after(AfterRestoreAdopt)), want: []string{"update cluster1"}},
		"lost, to be deleted": {is: of(app()).own(t).gone().with(after(AfterRestoreDelete)), want: []string{"update cluster1"}},
		"lost, and a person decided to adopt": {
			is:   of(app()).own(t, marked, func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = AfterRestoreAdopt }).gone().with(lost),
			want: []string{"update cluster1"}},
		"an unreadable work": {
			is:   of(app()).own(t, unreadableThere).gone().with(lost, after(AfterRestoreAdopt)),
			want: []string{"backoff"}},
	})
}

// TestADecisionOnAWaitingWork: a user's decision on a waiting work counts, even after an observed end of its
// Application. Towline's own value of the annotation is for a restart.
func TestADecisionOnAWaitingWork(t *testing.T) {
	says := func(word string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = word }
	}
	moved := func(edits ...func(*workv1.ManifestWork)) *situation { // the hub has a new Application of the same name, on another cluster
		return of(cascading()).own(t, reports("Healthy")).at(t, "cluster2", "earlier", edits...)
	}
	silent := told(func(*workv1.ManifestWork) {})
	for title, tc := range map[string]struct {
		is       *situation
		released bool
	}{
		"adopt":                            {of(app()).own(t, silent, says(AfterRestoreAdopt)).gone(), true},
		"adopt, and the cluster refuses":   {of(app()).own(t, told(refuses("no right")), says(AfterRestoreAdopt)).gone(), true},
		"adopt, of an earlier Application": {moved(silent, says(AfterRestoreAdopt)), true},
		"hold":                             {of(app()).own(t, silent, says(AfterRestoreHold)).gone(), false},
		"Towline's own value":              {of(app()).own(t, silent, says(AfterRestoreDelete)).gone(), false},
		"Towline's own value, of an earlier Application": {moved(silent, says(AfterRestoreDelete)), false},
		"an unknown value":                       {of(app()).own(t, silent, says("what?")).gone(), false},
		"adopt, before the cluster has answered": {of(app()).own(t, says(AfterRestoreAdopt)).gone(), true},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			var updated *workv1.ManifestWork
			for _, s := range plan.Steps {
				if s.Verb == work.VerbUpdate {
					updated = s.Work
				}
			}
			if got := updated != nil && work.Released(updated) && updated.Spec.DeleteOption != nil; got != tc.released {
				t.Errorf("released: %t, by %q", got, outline(&plan))
			}
			for _, w := range tc.is.Others {
				word := w.Annotations[apis.AnnotationOrphaned]
				if updated != nil && word != "what?" && updated.Annotations[apis.AnnotationOrphaned] != word {
					t.Errorf("the word is %q now", updated.Annotations[apis.AnnotationOrphaned])
				}
			}
		})
	}
}

func TestDestroys(t *testing.T) {
	for title, tc := range map[string]struct {
		is   *situation
		want int
	}{
		"a new Application":            {of(app()), 0},
		"a new Application, old first": {of(app().Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)), 1},
		"a deletion":                   {of(deletedApp(cascading())).own(t), 1},
		"the end":                      {of(deletedApp(cascading())), 1},
		"a new namespace": {
			of(cascading().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) { s.Own = workFor(t, app().Obj(), unseenYet) }),
			1,
		},
		"forced, and all": {of(deletedApp(cascading().Annotation(apis.AnnotationForceDelete, "true"))).own(t), 2},
	} {
		plan := Decide(tc.is.Facts, tc.is.Options)
		if got := plan.Destroys(); len(got) != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}

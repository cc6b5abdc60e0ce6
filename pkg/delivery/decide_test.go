package delivery

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

func app() *fixture.ApplicationBuilder { return fixture.Application("guestbook") }

func cascading() *fixture.ApplicationBuilder { return app().Finalizers(apis.FinalizerResources) }

func dying(f *managedcluster.Facts)          { f.Deleting = true }
func missingCluster(f *managedcluster.Facts) { *f = managedcluster.Facts{} }
func notAccepted(f *managedcluster.Facts)    { f.Accepted = false }
func away(f *managedcluster.Facts) {
	f.Unreachable = "cluster " + f.Name + " has not been available since 2026."
}
func isHub(f *managedcluster.Facts)         { f.Hub = true }
func pausedCluster(f *managedcluster.Facts) { f.Paused = "Namespace " + f.Name }

// droppedAt sets the time of the first condition.
func droppedAt(at time.Time) func(*situation) {
	return func(s *situation) { s.App.Status.Conditions[0].LastTransitionTime = &metav1.Time{Time: at} }
}

func refusal() *authorization.Refusal {
	return &authorization.Refusal{Reason: apis.ReasonClusterForbidden, Message: "no set has it"}
}

func TestDeliver(t *testing.T) {
	const anError = "PropagationError "
	elder := app().UID("00000000-0000-4000-8000-000000000000").Namespace("other").Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	stranger := func(w *workv1.ManifestWork) {
		w.Labels, w.Annotations = nil, nil
		w.Spec.Workload.Manifests[0].Raw = []byte(`{"kind":"ConfigMap"}`)
	}
	decides(t, map[string]row{
		"a new Application": {is: of(app()), want: []string{"create cluster1", "  event Propagated"}},
		"a new Application, by the cache": {
			is: of(app()).with(func(s *situation) { s.Known &^= FactLatest }), want: []string{"needs latest"}},
		"a new Application, and a cluster has reported": {
			is: of(app().Health("Healthy")).with(func(s *situation) { s.Known &^= FactLatest }), want: []string{"create cluster1", "  event Propagated"}},
		"an Application with its work": {is: of(app()).own(t), want: []string{}},
		"an Application that is newer than the cache": {
			is: of(app()).with(func(s *situation) { s.Presence, s.App = Behind, nil }), want: []string{}},
		"a work that was edited": {
			is:   of(app()).own(t, func(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) }),
			want: []string{"update cluster1"}},
		"a work in deletion": {is: of(app()).own(t, goingAway), want: []string{}},
		"the condition of a solved problem": {
			is: of(app().Condition("PropagationError", "old")).own(t), want: []string{"hub: conditions go"}},
		"no cluster named":     {is: of(app().Cluster("")), want: []string{anError + "ClusterAnnotationMissing"}},
		"no name of a cluster": {is: of(app().Cluster("A/B")), want: []string{anError + "ClusterNameInvalid"}},
		"no namespace": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "A")), want: []string{anError + "NamespaceInvalid"}},
		"no namespace, by a flag of the administrators": {
			is:   of(app()).with(func(s *situation) { s.App.Home = strings.Repeat("x", 64) }),
			want: []string{anError + "NamespaceInvalid"}, says: "Towline's flag --app-namespaces gives Applications of namespace argocd the namespace \"xxx"},
		"the hub's own Argo CD": {
			is:   of(app().NoAnnotation(apis.AnnotationSkipReconcile)).own(t),
			want: []string{"update cluster1", anError + "SkipReconcileMissing"}, says: "meanwhile the Application is being released"},
		"an odd word on adoption": {
			is: of(app().Annotation(apis.AnnotationAdopt, "no")), want: []string{anError + "AnnotationInvalid"}, says: "until the correction, " +
				"Towline sends nothing"},
		"two destinations": {
			is:   of(app().Annotation(apis.AnnotationDestinationName, "a").Annotation(apis.AnnotationDestinationServer, "https://b")),
			want: []string{anError + "AnnotationInvalid"}, says: "exclude each other: remove one of them; until the correction, Towline sends nothing"},
		"a destination that is a pattern": {
			is:   of(app().Annotation(apis.AnnotationDestinationName, "edge-*")),
			want: []string{anError + "AnnotationInvalid"}, says: apis.AnnotationDestinationName + `: "edge-*" is not the name`},
		"an odd word on release": {
			is: of(app().Annotation(apis.AnnotationRelease, "no?")), want: []string{anError + "AnnotationInvalid"}, says: "sends and releases nothing"},
		"no such cluster": {is: of(app()).cluster("cluster1", missingCluster), want: []string{anError + "ClusterNotFound"}},
		"the hub, by Argo CD's name for it": {
			is: of(app().Cluster("in-cluster")).cluster("in-cluster", missingCluster), want: []string{anError + "ClusterNotFound"},
			says: "Argo CD's name for the hub itself, and not a ManagedCluster. A cluster generator with an empty selector adds this name: " +
				"leave the name out with the selector matchLabels {argocd.argoproj.io/secret-type: cluster}"},
		"no such cluster, and on another": {
			is:   of(app()).cluster("cluster1", missingCluster).at(t, "cluster2", fixture.UID),
			want: []string{anError + "ClusterNotFound"}, says: "until then, cluster cluster2 keeps the Application"},
		"no such cluster, and a refresh": {
			is:   of(app().Annotation(apis.AnnotationRefresh, "hard")).cluster("cluster1", missingCluster),
			want: []string{"hub: no refresh", anError + "ClusterNotFound"}},
		"a cluster that goes": {is: of(app()).cluster("cluster1", dying), want: []string{anError + "ClusterDeleting"}},
		"a cluster not accepted": {
			is: of(app()).cluster("cluster1", notAccepted), want: []string{anError + "ClusterNotAccepted"}},
		"the hub, in the namespace of the hub's Application": {is: of(app()).cluster("cluster1", isHub), want: []string{anError + "LocalClusterConflict"}},
		"the hub, with an Application of its own": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "there")).cluster("cluster1", isHub).
				with(func(s *situation) { s.HubCopy = app().Obj() }),
			want: []string{anError + "LocalClusterConflict", "backoff"}, says: "an Application there/guestbook of its own"},
		"the hub, with the Application of the work": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "there")).cluster("cluster1", isHub).
				with(func(s *situation) { s.HubCopy = app().Annotation(apis.AnnotationWork, work.Name(s.App)).Obj() }),
			want: []string{"create cluster1", "  event Propagated"}},
		"an invalid spec": {is: of(app().Spec(`[]`)), want: []string{anError + "SpecInvalid"}},
		"not permitted": {
			is: of(app()).with(func(s *situation) { s.Refused = refusal() }), want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"an invalid executor": {
			is: of(app()).with(func(s *situation) { s.ExecutorInvalid = "it is none" }), want: []string{anError + "ExecutorInvalid"}},
		"with an executor": {
			is: of(app()).own(t).with(func(s *situation) { s.Executor = types.NamespacedName{Namespace: "a", Name: "b"} }), want: []string{"update cluster1"}},
		"an older Application has the target": {
			is:   of(app()).with(func(s *situation) { s.Claimants = []Claimant{{App: elder}} }),
			want: []string{anError + "TargetConflict", "backoff"}, says: "Application other/guestbook has the same"},
		"an older Application may not have the target": {
			is:   of(app()).with(func(s *situation) { s.Claimants = []Claimant{{App: elder, Refused: refusal()}} }),
			want: []string{"create cluster1", "  event Propagated"}},
		"an older Application comes late": {
			is: of(app()).own(t).with(func(s *situation) { s.Claimants = []Claimant{{App: elder}} }), want: []string{}},
		"both were sent": {
			is:   of(app()).own(t).with(func(s *situation) { s.Claimants = []Claimant{{App: elder, Work: workFor(t, elder)}} }),
			want: []string{"delete cluster1", "  event WorkDeleted", anError + "TargetConflict", "backoff"}},
		"both were sent, and the older Application is not applied": {
			is:   of(app()).own(t).with(func(s *situation) { s.Claimants = []Claimant{{App: elder, Work: workFor(t, elder, unseenYet)}} }),
			want: []string{anError + "TargetConflict", "backoff"}},
		"a second Application is still on the target": {
			is: of(app()).with(func(s *situation) {
				other := app().Namespace("other").UID("11111111-0000").Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
				s.Neighbours = append(s.Neighbours, workFor(t, other), workFor(t, s.App))
			}),
			want: []string{anError + "TargetConflict", "backoff"}, says: "which belongs to the hub's Application other/guestbook"},
		"a stranger's work": {is: of(app()).own(t, stranger), want: []string{anError + "WorkConflict", "backoff"}, says: "has the name that Towline needs"},
		"the work of a second Application": {
			is:   of(app()).own(t).with(func(s *situation) { s.OwnOwner = types.NamespacedName{Namespace: "x", Name: "y"} }),
			want: []string{anError + "WorkConflict"}, says: "belongs to Application x/y"},
		"a new Application that has changed or ended since": {
			is: of(app()).with(func(s *situation) { s.Outdated = true }), want: []string{"after 5s"}},
		"an earlier work is removed first": {
			is: of(app()).at(t, "cluster1", "22222", goingAway), want: []string{"MoveWarning Moving"}, says: "after the cluster has removed"},
		"an earlier work, by the cache": {
			is:   of(app()).at(t, "cluster1", "22222").with(func(s *situation) { s.Known &^= FactOthers }),
			want: []string{"needs others"}},
		"too large": {
			is:   of(app().Unknown("x", `"`+largeText+`"`)),
			want: []string{anError + "PayloadTooLarge"}},
		"rejected": {
			is:   of(app()).with(func(s *situation) { s.Refusal = &Rejection{Message: "no"} }),
			want: []string{anError + "WorkRejected", "backoff"}},
		"without a namespace on the hub": {
			is:   of(app()).with(func(s *situation) { s.Refusal = &Rejection{Message: "no", Namespace: true} }),
			want: []string{anError + "ClusterNamespaceMissing", "backoff"}},
		"paused": {
			is: of(app()).own(t).with(func(s *situation) { s.Paused = "this Application" }), want: []string{"PausedWarning Paused"}},
		"paused with a refresh": {
			is:   of(app().Annotation(apis.AnnotationRefresh, "hard")).cluster("cluster1", pausedCluster),
			want: []string{"hub: no refresh", "PausedWarning Paused"}},
		"paused with another refresh soon after": {
			is: of(app().Annotation(apis.AnnotationRefresh, "hard").Condition(apis.ConditionRefreshWarning, "dropped")).
				with(droppedAt(now.Add(-time.Second))).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused", "after 59s"}},
		"paused with another refresh after a while": {
			is: of(app().Annotation(apis.AnnotationRefresh, "hard").Condition(apis.ConditionRefreshWarning, "dropped")).
				with(droppedAt(now.Add(-relay.RefreshDeadline))).cluster("cluster1", pausedCluster),
			want: []string{"hub: no refresh", "PausedWarning Paused"}},
		"paused with another refresh, by the time of another clock": {
			is: of(app().Annotation(apis.AnnotationRefresh, "hard").Condition(apis.ConditionRefreshWarning, "dropped")).
				with(droppedAt(now.Add(time.Hour))).cluster("cluster1", pausedCluster),
			want: []string{"hub: no refresh", "PausedWarning Paused"}},
		"paused on its old cluster, with a refresh": {
			is: of(app().Annotation(apis.AnnotationRefresh, "hard").Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)).
				at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster),
			want: []string{"hub: no refresh", "PausedWarning Paused"}},
		"an operation that may not travel": {
			is:   of(app().Operation(`{"sync":{}}`)).own(t).with(func(s *situation) { s.OperationRefused = refusal() }),
			want: []string{"PropagationForbiddenError ClusterForbidden"}, says: "is not sent"},
		"an invalid operation": {
			is: of(app().Operation(`[]`)).own(t), want: []string{anError + "OperationInvalid"}},
		"the work lost its label": {
			is:   of(app()).own(t, func(w *workv1.ManifestWork) { w.Labels = nil }).with(func(s *situation) { s.OwnUnwatched = true }),
			want: []string{"update cluster1"}},
		"an unwatched work in deletion": {
			is: of(app()).own(t, goingAway).with(func(s *situation) { s.OwnUnwatched = true }), want: []string{"after 5s"}},
		"an unwatched foreign work in deletion": {
			is: of(app()).own(t, goingAway, stranger).with(func(s *situation) { s.OwnUnwatched = true }), want: []string{"after 5s"}},
		"the work lost its label, in the former namespace": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				s.Own, s.OwnUnwatched = workFor(t, app().Obj(), func(w *workv1.ManifestWork) { w.Labels = nil }), true
			}), want: []string{"update cluster1", "MoveWarning Moving"}},
	})
}

var largeText = func() string {
	b := make([]byte, work.MaxPayload)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}()

func TestAdopt(t *testing.T) {
	asks, looks := claimsBy(work.Apply), claimsBy(work.ReadOnly)
	asksWhose := func(w *workv1.ManifestWork) {
		asks(w)
		work.AskOrigin(w)
	}
	const mark = ".metadata.annotations." + apis.AnnotationSpecHash
	never := func(b *fixture.ApplicationBuilder) *situation {
		return of(b).with(func(s *situation) { s.Adopt = apis.AdoptNever })
	}
	looksAnd := func(values ...string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			work.SetUpdateMode(w, work.ReadOnly)
			w.Generation++
			reports("Healthy", values...)(w)
		}
	}
	claimed := func(p Plan) work.UpdateMode { return work.UpdateModeOf(p.Steps[0].Work) }
	for title, tc := range map[string]struct {
		is   *situation
		want work.UpdateMode
	}{
		"a new Application":        {of(app()), work.Apply},
		"a new Application, never": {of(app()).with(func(s *situation) { s.Adopt = apis.AdoptNever }), work.ReadOnly},
		"a new Application, never, and asked": {
			of(app().Annotation(apis.AnnotationAdopt, "always")).with(func(s *situation) { s.Adopt = apis.AdoptNever }),
			work.ReadOnly,
		},
		"a new Application, always": {of(app().Annotation(apis.AnnotationAdopt, "always")), work.ForceApply},
		"brought before":            {of(app()).at(t, "cluster1", "22222", claimsBy(work.ForceApply)), work.ForceApply},
		"asked, applied, changed": {
			of(app().Label("x", "y")).own(t, asks, func(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) }),
			work.ForceApply,
		},
		"asked, not applied, changed": {
			of(app()).own(t, asks, refuses("x"), func(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) }), work.Apply,
		},
		"looked, and found nothing": {of(app()).own(t, looks, func(w *workv1.ManifestWork) {
			w.Status = fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).Condition(workv1.WorkAvailable, metav1.ConditionFalse, "").Obj()
		}), work.Apply},
		"looked, and found the work's own Application": {
			never(app()).own(t, looksAnd("brought", work.Name(app().Obj()))), work.Apply},
		"refused for the mark of an earlier work's request": {
			never(app()).own(t, asks, refuses("x: Apply failed with 1 conflict: conflict with \"work-agent-release\": "+mark)), work.ForceApply},
		"brought by the work, and edited on the cluster since": {
			never(app()).own(t, asksWhose, refuses("x: Apply failed with 1 conflict: .spec",
				"broughtOwner", strings.Repeat("a", 64)+"-"+work.Name(app().Obj()))), work.ForceApply},
	} {
		t.Run(title, func(t *testing.T) {
			cased[t.Name()] = true
			plan := Decide(tc.is.Facts, tc.is.Options)
			if len(plan.Steps) != 1 || claimed(plan) != tc.want {
				t.Errorf("got %q", outline(&plan))
			}
		})
	}
	decides(t, map[string]row{
		"always, where others set its fields": {
			is:   of(app().Annotation(apis.AnnotationAdopt, "always")).own(t, asks, refuses("x: Apply failed with 1 conflict: .spec")),
			want: []string{"update cluster1"}},
		"looked, and found an Application": {
			is:   of(app().Annotation(apis.AnnotationAdopt, "never")).own(t, looks),
			want: []string{"PropagationError AdoptionRefused"}, says: "delete the Application on the cluster"},
		"never, where others set its fields": {
			is:   never(app()).own(t, asksWhose, refuses("x: Apply failed with 1 conflict: .spec")),
			want: []string{"PropagationError AdoptionRefused"}, says: "to different values: make the values equal, or delete the Application on the " +
				"cluster. 1 conflict"},
		"looked, and found an earlier work's Application": {
			is: never(app()).own(t, looksAnd("brought", "guestbook-00000")), want: []string{"PropagationError AdoptionRefused"}},
		"looked, and found a second agent's Application": {
			is:   never(app()).own(t, looksAnd("brought", work.Name(app().Obj()), "broughtOwner", "hub-guestbook-00000")),
			want: []string{"PropagationError AdoptionRefused"}},
		"looked, before the work was changed": {
			is: never(app()).own(t, looksAnd("brought", work.Name(app().Obj())), func(w *workv1.ManifestWork) {
				for i := range w.Status.Conditions {
					w.Status.Conditions[i].ObservedGeneration--
				}
			}), want: []string{"PropagationError AdoptionRefused"}},
		"others set its fields, and the owner is unread": {
			is: of(app()).own(t, asks, refuses("x: Apply failed with 1 conflict: .spec")), want: []string{"update cluster1"}},
		"others set its fields, and the answer is about an earlier version": {
			is: of(app()).own(t, asksWhose, refuses("x: Apply failed with 1 conflict: .spec"), func(w *workv1.ManifestWork) {
				w.Status.Conditions[1].ObservedGeneration--
			})},
		"others set its fields": {
			is:   of(app()).own(t, asksWhose, refuses("x: Apply failed with 1 conflict: .spec")),
			want: []string{"PropagationError AdoptionRefused"}, says: "1 conflict"},
		"others set its mark": {
			is:   of(app()).own(t, asksWhose, refuses(`x: Apply failed with 1 conflict: conflict with "kubectl": `+mark)),
			want: []string{"PropagationError AdoptionRefused"}, says: "1 conflict"},
		"another manager of agents set its mark": {
			is:   of(app()).own(t, asksWhose, refuses(`x: Apply failed with 1 conflict: conflict with "work-agent-x": `+mark)),
			want: []string{"PropagationError AdoptionRefused"}, says: "1 conflict"},
		"an earlier work's request set another field": {
			is:   of(app()).own(t, asksWhose, refuses(`x: Apply failed with 1 conflict: conflict with "work-agent-release": .spec`)),
			want: []string{"PropagationError AdoptionRefused"}, says: "1 conflict"},
		"an earlier work's request set its mark, and others a field": {
			is: of(app()).own(t, asksWhose, refuses("x: Apply failed with 2 conflicts: conflicts with \"kubectl\":\n- .spec\n"+
				"conflicts with \"work-agent-release\":\n- "+mark)),
			want: []string{"PropagationError AdoptionRefused"}, says: "2 conflicts"},
	})
}

func TestMove(t *testing.T) {
	const move = "MoveWarning Moving"
	old := func(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder {
		return b.Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
	}
	runs := reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", "2026-01-01T00:00:00Z")
	elsewhere := func(w *workv1.ManifestWork) { w.Generation = 2; reports("Healthy")(w) }
	keptBy := func(uid string) *situation { // by the work of another Application, from before a restore of the hub
		return of(app().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
			w, _ := work.PrepareRemoval(workFor(t, app().Obj(), elsewhere, unseenYet), nil)
			w.Finalizers, w.Generation = []string{workv1.ManifestWorkFinalizer}, 3
			reports("Healthy", "workOwner", strings.Repeat("a", 64)+"-guestbook-"+uid)(w)
			s.Own = w
		})
	}
	decides(t, map[string]row{
		"sent, not applied": {
			is: of(cascading()).at(t, "cluster2", fixture.UID), want: []string{"create cluster1", "  event Propagated", move}, says: "keeps the " +
				"Application until the new cluster has applied its copy"},
		"applied, not healthy": {
			is:   of(cascading()).own(t).at(t, "cluster2", fixture.UID),
			want: []string{move, "after 59m0s"}, says: "until the new cluster's copy is healthy, or for 1h0m0s"},
		"applied, not healthy in time": {
			is:   of(cascading()).own(t).at(t, "cluster2", fixture.UID).with(func(s *situation) { s.Move.Timeout = time.Second }),
			want: []string{"delete cluster2", "  event WorkDeleted", move}, says: "waiting for cluster cluster2 to remove the Application"},
		"healthy": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster2", fixture.UID),
			want: []string{"delete cluster2", "  event WorkDeleted", move}},
		"healthy, and an operation runs on the old": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster2", fixture.UID, runs),
			want: []string{move}, says: "to shorten the wait, terminate the operation on the cluster"},
		"healthy, and the old is paused": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster),
			want: []string{"PausedWarning Paused"}},
		"an earlier Application of the same name, on the same cluster": {
			is: of(cascading()).own(t).at(t, "cluster1", "22222"), want: []string{"delete cluster1", "  event WorkDeleted", "after 59m0s"}},
		"an earlier Application of the same name, healthy": {
			is:   of(cascading()).own(t, reports("Healthy")).at(t, "cluster1", "22222").cluster("cluster1"),
			want: []string{"delete cluster1", "  event WorkDeleted"}},
		"an earlier Application of the same name, forbidden": {
			is:   of(cascading()).own(t).at(t, "cluster1", "22222").with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"delete cluster1", "  event WorkDeleted", "PropagationForbiddenError ClusterForbidden"}},
		"an earlier Application of the same name, forbidden and not applied": {
			is:   of(cascading()).own(t, refuses("no")).at(t, "cluster1", "22222").with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"an earlier Application of the same name, forbidden and released": {
			is:   of(cascading()).own(t, releasedAnd(true)).at(t, "cluster1", "22222").with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"an earlier Application of the same name, paused": {
			is:   of(cascading()).own(t).at(t, "cluster1", "22222").with(func(s *situation) { s.Paused = "it" }),
			want: []string{"PausedWarning Paused"}},
		"an earlier Application of the same name on a second cluster, forbidden": {
			is:   of(cascading()).own(t).at(t, "cluster2", "22222").with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"PropagationForbiddenError ClusterForbidden"}},
		"an earlier Application of the same name on the old cluster, and the new cluster is missing": {
			is:   of(cascading()).at(t, "cluster2", fixture.UID).at(t, "cluster2", "22222").with(func(s *situation) { delete(s.Clusters, "cluster1") }),
			want: []string{"delete cluster2", "  event WorkDeleted", "PropagationError ClusterNotFound"}, says: "until then, cluster cluster2 keeps"},
		"earlier Applications of the same name on the old cluster, and the new cluster is missing": {
			is: of(cascading()).at(t, "cluster2", "22222", aged(time.Hour)).at(t, "cluster2", "33333").with(func(s *situation) {
				delete(s.Clusters, "cluster1")
			}),
			want: []string{"delete cluster2", "  event WorkDeleted", "PropagationError ClusterNotFound"}},
		"an earlier Application of the same name on the old cluster, and the new cluster has not applied the work": {
			is:   of(cascading()).own(t, unseenYet).at(t, "cluster2", fixture.UID).at(t, "cluster2", "22222"),
			want: []string{"delete cluster2", "  event WorkDeleted", move}},
		"an earlier Application of the same name in another namespace of the old cluster": {
			is: of(cascading()).own(t, unseenYet).at(t, "cluster2", fixture.UID).with(func(s *situation) {
				elsewhere := s.App.DeepCopy()
				elsewhere.UID, elsewhere.Annotations[apis.AnnotationCluster] = "22222", "cluster2"
				elsewhere.Annotations[apis.AnnotationAppNamespace] = "elsewhere"
				s.Others = append(s.Others, workFor(t, elsewhere))
			}),
			want: []string{move}},
		"earlier Applications of the same name, both released": {
			is: of(cascading()).at(t, "cluster2", fixture.UID, releasedAnd(true)).at(t, "cluster2", "22222", releasedAnd(true)).with(func(s *situation) {
				delete(s.Clusters, "cluster1")
			}),
			want: []string{"delete cluster2", "  event WorkDeleted", "PropagationError ClusterNotFound"}},
		"earlier Applications of the same name, and the later release is not applied everywhere": {
			is: of(cascading()).at(t, "cluster2", fixture.UID, releasedAnd(true)).at(t, "cluster2", "22222", releasedAnd(false)).with(func(s *situation) {
				delete(s.Clusters, "cluster1")
			}),
			want: []string{"PropagationError ClusterNotFound"}},
		"old first": {
			is:   of(old(cascading())).at(t, "cluster2", fixture.UID),
			want: []string{"delete cluster2", "  event WorkDeleted", move}, says: "the Application is sent after cluster cluster2 has removed its copy"},
		"old first, and the new cluster is away": {
			is: of(old(cascading())).at(t, "cluster2", fixture.UID).cluster("cluster1", away), want: []string{move}, says: "keeps the Application " +
				"unchanged until"},
		"old first, and the new cluster is away, with the old work in deletion": {
			is: of(old(cascading())).at(t, "cluster2", fixture.UID, goingAway).cluster("cluster1", away), want: []string{move}},
		"old first, and the hub would refuse the work": {
			is:   of(old(cascading())).at(t, "cluster2", fixture.UID).with(func(s *situation) { s.Rehearsed = &Rejection{Message: "no"} }),
			want: []string{"PropagationError WorkRejected", "backoff"}, says: "until then, cluster cluster2 keeps the Application"},
		"old first, too large": {
			is: of(old(cascading()).Unknown("x", `"`+largeText+`"`)).with(func(s *situation) {
				w := workFor(t, app().Obj())
				w.Namespace, s.Others = "cluster2", works{w}
			}),
			want: []string{"PropagationError PayloadTooLarge", "backoff"}, says: "split the Application"},
		"old first, and the old is paused": {
			is: of(old(cascading())).at(t, "cluster2", fixture.UID).cluster("cluster2", pausedCluster), want: []string{"PausedWarning Paused"}},
		"a new namespace": {
			is:   of(cascading().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) { s.Own = workFor(t, cascading().Obj()) }),
			want: []string{"update cluster1", move}, says: "waiting for its work agent to remove the finalizers"},
		"a new namespace, and the finalizers are removed": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				w, _ := work.PrepareRemoval(workFor(t, app().Obj(), elsewhere), nil)
				s.Own = w
				w.Generation = 3
				reports("Healthy", "finalizersDropped", "2")(w)
			}),
			want: []string{"update cluster1"}},
		"a new namespace, and the Application cannot be read": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				w, _ := work.PrepareRemoval(workFor(t, app().Obj(), elsewhere), nil)
				s.Own = w
				w.Generation = 3
				unreadThere(w)
			}),
			want: []string{move, "after 20m0s"}, says: "cannot report whether its Application still exists"},
		"a new namespace, kept by the work of an earlier Application": {
			is: keptBy("22222").at(t, "cluster1", "22222", elsewhere), want: []string{"update cluster1"}},
		"a new namespace, refused and kept by the work of an earlier Application": {
			is: keptBy("22222").at(t, "cluster1", "22222", elsewhere).with(func(s *situation) {
				work.SetUpdateMode(s.Own, work.Apply)
				b := fixture.Feedback(s.Own.Spec.ManifestConfigs[0].ResourceIdentifier)
				s.Own.Status = b.Refused("Apply failed with 1 conflict: .spec", metav1.ConditionTrue).
					String("workOwner", strings.Repeat("a", 64)+"-guestbook-22222").Obj()
				for i := range s.Own.Status.Conditions {
					s.Own.Status.Conditions[i].ObservedGeneration = s.Own.Generation
				}
			}),
			want: []string{"update cluster1"}},
		"a new namespace, kept by an earlier Application's work in deletion": {
			is: keptBy("22222").at(t, "cluster1", "22222", elsewhere, goingAway), want: []string{move}, says: "has not reported yet"},
		"a new namespace, kept by an unknown work": {
			is: keptBy("33333").at(t, "cluster1", "22222", elsewhere), want: []string{move}, says: "has not reported yet"},
		"a new namespace, and foreign finalizers hold the Application": {
			is: of(app().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				w, _ := work.PrepareRemoval(workFor(t, app().Obj(), elsewhere), nil)
				w.Generation = 3
				refuses("it may not")(w)
				for i := range w.Status.Conditions {
					w.Status.Conditions[i].Status = metav1.ConditionFalse
					if w.Status.Conditions[i].Type == workv1.WorkAvailable {
						w.Status.Conditions[i].Status = metav1.ConditionTrue
					}
				}
				s.Own = w
			}),
			want: []string{move}, says: "undo the change of namespace"},
	})
}

// TestGateTable: a gate is a check, a step, or a notice, and the condition of a gate is cleared at the end.
func TestGateTable(t *testing.T) {
	for _, g := range Gates() {
		notice := g.check == nil && g.step == nil
		if (g.check != nil) != (len(g.Holds) > 0) || g.check != nil && g.step != nil || notice != slices.Contains(notices, g) {
			t.Errorf("%q is none of a check with intents, a step, and one of the notices", g.Name)
		}
		if g.Type != "" && !Shown(g.Type) {
			t.Errorf("%q shows a condition that nobody clears", g.Name)
		}
	}
}

package delivery

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

const (
	began  = "2026-01-01T00:00:00Z"
	asked1 = `{"info":[{"name":"` + apis.OperationInfo + `","value":"1-a"}],"sync":{}}`
)

// sent stores a request in the annotations of a work.
func sent(s relay.Sent) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		if s.String() == "" {
			delete(w.Annotations, apis.AnnotationRequestSent)
			return
		}
		w.Annotations[apis.AnnotationRequestSent] = s.String()
	}
}

// unanswered removes the agent's answer.
func unanswered(w *workv1.ManifestWork) {
	for i := range w.Status.Conditions {
		w.Status.Conditions[i].ObservedGeneration = 0
	}
}

func TestRelay(t *testing.T) {
	asks := func() *fixture.ApplicationBuilder { return app().Operation(asked1) }
	way := relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "1", Digest: relay.Digest([]byte(asked1))}
	delivered, stop := way, relay.Sent{State: relay.OnItsWay, ID: relay.TerminationID(began), Version: "1"}
	delivered.State = relay.Delivered
	const moves = "MoveWarning Moving"
	running := reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", began)
	ended := reports("Healthy", "operationStatePhase", "Succeeded", "operationStateStartedAt", began)
	taken := reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", began, "operationTaken", "1-a")
	const compared = "2026-01-01T00:10:00Z"
	asksRefresh := func() *fixture.ApplicationBuilder { return app().Annotation(apis.AnnotationRefresh, "hard") }
	refreshing := func(w *workv1.ManifestWork) { // the work while a refresh is on its way
		r := relay.Refresh{Kind: "hard", ID: "r1", Since: now.Add(-time.Second)}
		of, err := work.Render(asksRefresh().Obj(), work.Requests{Stored: relay.Stored{Refresh: r}, Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		w.Annotations, w.Spec = of.Annotations, of.Spec
	}
	carrying := func(w *workv1.ManifestWork) {
		if err := work.Carry(w, app().Obj(), work.Request{Operation: []byte(asked1), Version: "1"}); err != nil {
			t.Fatal(err)
		}
		sent(way)(w)
	}
	decides(t, map[string]row{
		"without an identity": {
			is:   of(app().Operation(`{"sync":{}}`)).own(t),
			want: []string{`hub: operation {"info":[{"name":"apps.open-cluster-management.io/request","value":"1700000000-identity"}],"sync":{}}`}},
		"without an identity, and the identity is unread": {
			is: of(app().Operation(`{"sync":{}}`)).own(t).with(func(s *situation) { s.Known = 0 }), want: []string{"needs identity"}},
		"sent to another cluster": {
			is:   of(asks()).at(t, "cluster2", fixture.UID, carrying, unanswered),
			want: []string{"hub: operation null", "event OperationWithdrawn"}},
		"delivered to another cluster": {
			is:   of(asks()).own(t).at(t, "cluster2", fixture.UID, taken, sent(delivered)),
			want: []string{"hub: operation null", "event OperationWithdrawn"}},
		"sent to another cluster, old first": {
			is:   of(asks().Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)).at(t, "cluster2", fixture.UID, taken, sent(delivered)),
			want: []string{"hub: operation null", "MoveWarning Moving", "event OperationWithdrawn"}},
		"sent to another cluster by an earlier Application's work, old first": {
			is:   of(asks().Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)).at(t, "cluster2", "22222", carrying, unanswered),
			want: []string{"hub: operation null", moves, "event OperationWithdrawn"}},
		"sent by a work that goes": {
			is: of(asks()).own(t, carrying, unanswered, goingAway), want: []string{"hub: operation null", "event OperationWithdrawn"}},
		"sent by a work that goes, and the next may not come": {
			is:   of(asks()).own(t, carrying, goingAway).with(func(s *situation) { s.Refused = refusal() }),
			want: []string{"hub: operation null", "PropagationForbiddenError ClusterForbidden", "event OperationWithdrawn"}},
		"sent by a work that loses its right": {
			is: of(asks()).own(t, carrying).with(func(s *situation) {
				s.Revocation.Delete = true
				s.Revoked = map[types.UID]Revocation{s.Own.UID: {Refusal: refusal(), Since: now.Add(-time.Hour)}}
			}),
			want: []string{"delete cluster1", "  event WorkDeleted", "  event Revoked", "hub: operation null", "event OperationWithdrawn"}},
		"sent by a work that is released": {
			is:   of(asks().Annotation(apis.AnnotationRelease, "true")).own(t, carrying),
			want: []string{"hub: operation null", "ReleaseWarning Releasing", "event OperationWithdrawn"}},
		"sent by a work that is released, without the label": {
			is:   of(asks().NoLabel(apis.LabelPull)).own(t, carrying),
			want: []string{"hub: operation null", "ReleaseWarning Releasing", "event OperationWithdrawn", "after 5s"}},
		"sent by a work that goes, while it is released": {
			is:   of(asks().Annotation(apis.AnnotationRelease, "true")).own(t, carrying, goingAway),
			want: []string{"hub: operation null", "ReleaseWarning Releasing", "event OperationWithdrawn"}},
		"sent by a work, and its Application goes": {
			is:   of(deletedApp(cascading().Operation(asked1))).own(t, carrying),
			want: []string{"DeletionWarning Deleting"}},
		"sent to another cluster, where its API server failed": {
			is:   of(asks()).at(t, "cluster2", fixture.UID, carrying, refuses("a time-out")),
			want: []string{"hub: operation null", "event OperationWithdrawn"}},
		"refused by another cluster": {
			is:   of(asks()).at(t, "cluster2", fixture.UID, carrying, refuses("the object has been modified")),
			want: []string{"create cluster1", "  event Propagated", moves}},
		"an earlier operation was sent to another cluster": {
			is:   of(app().Operation(strings.Replace(asked1, "1-a", "1-b", 1))).at(t, "cluster2", fixture.UID, taken, sent(delivered)),
			want: []string{"create cluster1", "  event Propagated", moves}},
		"with an invalid list": {
			is: of(app().Operation(`{"sync":{},"info":7}`)).own(t), want: []string{"PropagationError OperationInvalid"}},
		"with an invalid list, and nothing else waits": {
			is: of(app().Operation(`{"sync":{},"info":7}`)).own(t, func(w *workv1.ManifestWork) {
				w.Annotations[apis.AnnotationOrphanedAt] = "then"
			}),
			want: []string{"update cluster1", "PropagationError OperationInvalid"}},
		"without content": {is: of(app().Operation(`{}`)).own(t), want: []string{"hub: operation null", "event OperationInvalid"}},
		"without content, of a set": {
			is:   of(app().ApplicationSet("set").Operation(`{"info":[]}`)).own(t),
			want: []string{"hub: operation null", "hub: refresh normal", "event OperationInvalid"}},
		"without content, of a set that refreshes": {
			is:   of(app().ApplicationSet("set").Operation(`{"info":[]}`).Annotation(apis.AnnotationRefresh, "hard")).own(t),
			want: []string{"hub: operation null", "event OperationInvalid"}},
		"to be sent": {is: of(asks()).own(t), want: []string{"update cluster1"}},
		"to be sent, by the cache": {
			is: of(asks()).own(t).with(func(s *situation) { s.Known &^= FactLatest }), want: []string{"needs latest"}},
		"to be sent, and the Application has changed": {
			is: of(asks()).own(t).with(func(s *situation) { s.Outdated = true }), want: []string{}},
		"before the first work": {is: of(asks()), want: []string{"create cluster1", "  event Propagated"}},
		"on its way":            {is: of(asks()).own(t, carrying, unanswered), want: []string{}},
		"on its way, withdrawn": {is: of(app()).own(t, carrying, unanswered), want: []string{"update cluster1"}},
		"on its way, applied":   {is: of(asks()).own(t, carrying), want: []string{"update cluster1"}},
		"on its way, refused":   {is: of(asks()).own(t, carrying, refuses("the object has been modified")), want: []string{"update cluster1"}},
		"on its way, failed":    {is: of(asks()).own(t, carrying, refuses("a time-out")), want: []string{"update cluster1", "after 30s"}},
		"taken, not shown":      {is: of(asks()).own(t, taken, sent(delivered)), want: []string{}},
		"taken, and shown":      {is: of(asks().Runs("Running", began)).own(t, taken, sent(delivered)), want: []string{"hub: operation null"}},
		"over, and forgotten":   {is: of(app()).own(t, ended, sent(delivered)), want: []string{"update cluster1"}},
		"to be stopped":         {is: of(app().Runs("Terminating", began)).own(t, running), want: []string{"update cluster1"}},
		"to be stopped, on its way": {
			is: of(app().Runs("Terminating", began)).own(t, running, sent(stop), unanswered), want: []string{}},
		"to be stopped, and over": {
			is: of(app().Runs("Terminating", began)).own(t, ended, sent(stop)), want: []string{"update cluster1"}},
		"to be stopped before it began": {
			is: of(asks().Runs("Terminating", began)).own(t), want: []string{"hub: operation null"}},
		"a refresh": {is: of(app().Annotation(apis.AnnotationRefresh, "hard")).own(t), want: []string{"update cluster1", "after 1m0s"}},
		"a refresh, and no identity is known": {
			is:   of(app().Annotation(apis.AnnotationRefresh, "hard")).own(t).with(func(s *situation) { s.Known = 0 }),
			want: []string{"needs identity", "needs latest"}},
		"a refresh on its way": {is: of(asksRefresh().Reconciled(compared)).own(t, refreshing, reports("Healthy", "reconciledAt", compared)),
			want: []string{"after 59s"}},
		"a refresh that is not answered": {
			is: of(asksRefresh().Reconciled(compared)).own(t, refreshing,
				reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1", "refreshPending", "hard")),
			want: []string{"after 59s"}},
		"a refresh that is perhaps answered": {
			is:   of(asksRefresh().Reconciled(compared)).own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1"), unsynced),
			want: []string{"after 59s"}},
		"an earlier refresh is answered": {
			is:   of(asksRefresh().Reconciled(compared)).own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r0")),
			want: []string{"after 59s"}},
		"a refresh that is answered, not shown": {
			is:   of(asksRefresh().Reconciled(began)).own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"after 59s"}},
		"a refresh that is answered, not shown in time": {
			is: of(asksRefresh().Condition(apis.ConditionRefreshWarning, "old").Reconciled(began)).
				own(t, carriesRefresh(now.Add(-time.Hour)), reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"update cluster1", "hub: no refresh", "hub: conditions go"}},
		"a refresh that is done": {
			is: of(asksRefresh().Condition(apis.ConditionRefreshWarning, "old").Reconciled(compared)).
				own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"update cluster1", "hub: no refresh", "hub: conditions go"}},
		"a refresh that is done by the cache": {
			is: of(asksRefresh().Reconciled(compared)).with(func(s *situation) { s.Known &^= FactLatest }).
				own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"needs latest"}},
		"a refresh that is done, and the Application has changed": {
			is: of(asksRefresh().Reconciled(compared)).with(func(s *situation) { s.Outdated = true }).
				own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{}},
		"a refresh that is done, and its work is refused": {
			is: of(asksRefresh().Reconciled(compared)).with(func(s *situation) { s.Refusal = &Rejection{Message: "no"} }).
				own(t, refreshing, reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"PropagationError WorkRejected", "backoff"}},
		"a refresh after a dropped refresh": {
			is: of(asksRefresh().Reconciled(compared).Condition(apis.ConditionRefreshWarning, "dropped")).
				with(droppedAt(now)).own(t, carriesRefresh(now.Add(-time.Minute)), reports("Healthy", "reconciledAt", compared, "refreshRequest", "r1")),
			want: []string{"update cluster1", "hub: conditions go", "after 1m0s"}},
		"a refresh of an Application that cannot be compared": { // the cluster's Argo CD never writes reconciledAt
			is: of(asksRefresh()).own(t, refreshing, reports("Healthy", "refreshRequest", "r1")), want: []string{"update cluster1", "hub: no refresh"}},
		"a refresh that is withdrawn": {is: of(app()).own(t, refreshing), want: []string{"update cluster1"}},
		"a refresh that takes too long": {
			is:   of(app().Annotation(apis.AnnotationRefresh, "hard")).own(t, carriesRefresh(now.Add(-time.Hour))),
			want: []string{"update cluster1", "hub: no refresh", "hub: conditions go"}},
		"a new namespace, and on its way": {
			is: of(asks().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				s.Own = workFor(t, app().Obj(), carrying, unanswered)
			}), want: []string{}},
		"a new namespace, on its way, and not permitted": {
			is: of(asks().Annotation(apis.AnnotationAppNamespace, "new")).with(func(s *situation) {
				s.Own = workFor(t, app().Obj(), carrying, unanswered)
				s.Return = map[types.UID]*authorization.Refusal{s.Own.UID: refusal()}
			}), want: []string{"PropagationForbiddenError ClusterForbidden"}, says: "Undo the change until the move is over"},
		"deleted, and on its way": {
			is:   of(deletedApp(app().Finalizers(apis.FinalizerPostDelete))).own(t, carrying, unanswered),
			want: []string{"update cluster1", "DeletionWarning Deleting"}},
		"deleted, and on its way, and not permitted": {
			is: of(deletedApp(app().Finalizers(apis.FinalizerPostDelete))).own(t, carrying, unanswered).with(func(s *situation) {
				s.Return = map[types.UID]*authorization.Refusal{s.Own.UID: refusal()}
			}), want: []string{"update cluster1", "DeletionWarning Deleting"}},
		"deleted, and on its way, and the right is unread": {
			is:   of(deletedApp(app().Finalizers(apis.FinalizerPostDelete))).own(t, carrying, unanswered).with(func(s *situation) { s.Known = 0 }),
			want: []string{"needs return"}},
	})
}

// unsynced sets the report of an agent that could not read all values.
func unsynced(w *workv1.ManifestWork) {
	for i := range w.Status.ResourceStatus.Manifests[0].Conditions {
		if c := &w.Status.ResourceStatus.Manifests[0].Conditions[i]; c.Type == feedback.ConditionSynced {
			c.Status, c.Message = metav1.ConditionFalse, "x"
		}
	}
}

// carriesRefresh stores a refresh, sent at the given time, in a work.
func carriesRefresh(at time.Time) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		w.Annotations[apis.AnnotationRefreshSent] = relay.Refresh{Kind: "hard", ID: "r1", Since: at}.String()
	}
}

// TestUnfinished: an operation blocks a removal if the operation runs on the cluster, or was delivered without a
// report since.
func TestUnfinished(t *testing.T) {
	operation := relay.Sent{State: relay.Delivered, ID: "1-a", Version: "5", Digest: "d"}
	carries := operation
	carries.State = relay.OnItsWay
	for title, tc := range map[string]struct {
		sent     relay.Sent
		applied  metav1.ConditionStatus
		there    relay.Cluster
		complete bool
		want     bool
	}{
		"no operation":                     {complete: true},
		"an operation that is over":        {there: relay.Cluster{Taken: "1-a", StartedAt: "x"}, complete: true},
		"runs":                             {there: relay.Cluster{Taken: "1-a", Pending: "1-a", Busy: true}, complete: true, want: true},
		"waits":                            {there: relay.Cluster{Pending: "1-a"}, complete: true, want: true},
		"not the hub's":                    {there: relay.Cluster{Busy: true}, complete: true, want: true},
		"withdrawn on the cluster":         {there: relay.Cluster{Taken: "1-a", Busy: true}, complete: true},
		"perhaps withdrawn on the cluster": {there: relay.Cluster{Taken: "1-a", Busy: true}, want: true},
		"not applied":                      {sent: carries, there: relay.Cluster{Version: "5"}, complete: true},
		"refused":                          {sent: carries, applied: "False", there: relay.Cluster{Version: "5"}, complete: true},
		"applied, not heard of":            {sent: carries, applied: "True", there: relay.Cluster{Version: "5"}, complete: true, want: true},
		"applied, and over":                {sent: carries, applied: "True", there: relay.Cluster{Version: "6"}, complete: true},
		"delivered, not heard of":          {sent: operation, there: relay.Cluster{Version: "5"}, complete: true, want: true},
		"delivered, and over":              {sent: operation, there: relay.Cluster{Version: "6"}, complete: true},
		"a termination that has been applied": {
			sent: relay.Sent{State: relay.OnItsWay, ID: "terminate/x", Version: "5"}, applied: "True", there: relay.Cluster{Version: "5"}},
	} {
		t.Run(title, func(t *testing.T) {
			w := &workv1.ManifestWork{}
			w.Annotations = map[string]string{apis.AnnotationRequestSent: tc.sent.String()}
			if tc.applied != "" {
				w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: tc.applied}}
			}
			if got := unfinished(work.ReportOf(w), tc.there, tc.complete); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestForgedWork: a cluster can mark a work without rules as the work of an Application.
func TestForgedWork(t *testing.T) {
	forged := &workv1.ManifestWork{}
	if !SameWork(forged, forged) {
		t.Error("nothing has changed")
	}
	if why := work.ReportOf(forged).RefusedBy(); why != "" || work.ReportOf(forged).Found() != "" {
		t.Errorf("it says that it is refused: %q", why)
	}
}

func TestSameWork(t *testing.T) {
	running := func(id workv1.ResourceIdentifier) *fixture.FeedbackBuilder {
		return fixture.Feedback(id).String("operationStatePhase", "Running").String("operationStateStartedAt", began)
	}
	for title, tc := range map[string]struct {
		before, after func(*workv1.ManifestWork)
		same          bool
	}{
		"no change":    {reports("Healthy"), reports("Healthy"), true},
		"a new health": {reports("Healthy"), reports("Progressing"), true},
		"degraded":     {reports("Healthy"), reports("Degraded"), false},
		"a condition":  {reports("Healthy"), reports("Healthy", "conditionType", "SyncError"), false},
		"applied":      {unanswered, reports("Healthy"), false},
		"told":         {unseenYet, reports("Healthy"), false},
		"an operation": {reports("Healthy"), runsAnOperation, false},
		"compared":     {reports("Healthy"), reports("Healthy", "reconciledAt", "x"), true},
		"compared, when a refresh waits": {asks, func(w *workv1.ManifestWork) {
			asks(w)
			reports("Progressing", "reconciledAt", began)(w)
		}, false},
		"the agent does not tell of comparisons": {func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			notReported(w)
		}, reports("Healthy"), false},
		"the feedback rules are answered": {func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			says(began)(w)
			notReported(w)
		}, func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			says(began)(w)
		}, true},
		"the agent does not tell any more": {func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			says("")(w)
		}, reports("Healthy"), false},
		"compared, by a condition": {func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			says("")(w)
		}, func(w *workv1.ManifestWork) {
			reports("Healthy")(w)
			says(began)(w)
		}, true},
		"a new version":                       {reports("Healthy"), reports("Healthy", "resourceVersion", "2"), true},
		"a new version, when a refresh waits": {asks, func(w *workv1.ManifestWork) { asks(w); reports("Progressing", "resourceVersion", "2")(w) }, false},
		"a refresh is answered": {func(w *workv1.ManifestWork) {
			asks(w)
			reports("Healthy", "refreshRequest", "r1", "refreshPending", "hard")(w)
		}, func(w *workv1.ManifestWork) { asks(w); reports("Healthy", "refreshRequest", "r1")(w) }, false},
		"a complete report while a refresh is on its way": {func(w *workv1.ManifestWork) {
			carriesRefresh(now)(w)
			id := w.Spec.ManifestConfigs[0].ResourceIdentifier
			w.Status = fixture.Feedback(id).Condition("StatusFeedbackSynced", metav1.ConditionFalse, "x").Obj()
		}, func(w *workv1.ManifestWork) {
			carriesRefresh(now)(w)
			w.Status = fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).Obj()
		}, false},
		"finalizers that are left": {told(unanswered), told(reports("Healthy", "resourceVersion", "9")), false},
		"a complete report": {func(w *workv1.ManifestWork) {
			id := w.Spec.ManifestConfigs[0].ResourceIdentifier
			w.Status = running(id).Condition("StatusFeedbackSynced", metav1.ConditionFalse, "x").Obj()
		}, func(w *workv1.ManifestWork) {
			id := w.Spec.ManifestConfigs[0].ResourceIdentifier
			w.Status = running(id).Obj()
		}, false},
	} {
		t.Run(title, func(t *testing.T) {
			settled := app().Reconciled(began).Obj()
			a, b := workFor(t, settled, tc.before), workFor(t, settled, tc.after)
			if got := SameWork(a, b); got != tc.same {
				t.Errorf("the same: %t", got)
			}
		})
	}
}

func TestSameApplication(t *testing.T) {
	for title, tc := range map[string]struct {
		before, after *fixture.ApplicationBuilder
		same          bool
	}{
		"no change":                                    {app(), app(), true},
		"a label":                                      {app(), app().Label("x", "y"), false},
		"a new field":                                  {app(), app().Unknown("x", "1"), false},
		"a field that changed":                         {app().Unknown("x", "2"), app().Unknown("x", "1"), false},
		"the health":                                   {app(), app().Health("Healthy"), true},
		"the health, during a move":                    {app().Condition(moving, ""), app().Condition(moving, "").Health("Healthy"), false},
		"an operation began":                           {app(), app().Runs("Running", began), true},
		"a requested operation began":                  {app().Operation(asked1), app().Operation(asked1).Runs("Running", began), false},
		"an operation is to stop":                      {app().Runs("Running", began), app().Runs("Terminating", began), false},
		"a comparison":                                 {app().Reconciled(began), app().Reconciled("2026-01-01T00:03:00Z"), false},
		"an operation ended after the comparison":      {app().Reconciled(began), ended(app().Reconciled(began), "2026-01-01T00:01:00Z"), false},
		"an operation ended before the comparison":     {app().Reconciled(began), ended(app().Reconciled(began), "2025-12-01T00:01:00Z"), true},
		"a condition of propagation goes":              {app().Condition(problem, "x"), app(), false},
		"a condition of propagation has a new message": {app().Condition(problem, "x"), app().Condition(problem, "y"), true},
	} {
		t.Run(title, func(t *testing.T) {
			if got := SameApplication(tc.before.Obj(), tc.after.Obj()); got != tc.same {
				t.Errorf("the same: %t", got)
			}
		})
	}
}

// TestConditionsAreWrittenOnce: a condition is written once, and conditions of others stay.
func TestConditionsAreWrittenOnce(t *testing.T) {
	at := metav1.NewTime(now)
	kinds := func(list []argocd.Condition) string {
		var out []string
		for _, c := range list {
			out = append(out, c.Type+"="+c.Message)
		}
		return strings.Join(out, " ")
	}
	before := metav1.NewTime(now.Add(-time.Hour))
	others := []argocd.Condition{
		{Type: "SyncError", Message: "not ours"}, {Type: moving, Message: "a", LastTransitionTime: &before}, {Type: problem, Message: "b"},
	}
	got := showing(others, []Condition{{Type: forbidden, Message: "c"}, {Type: moving, Message: "d"}}, at)
	if want := "SyncError=not ours MoveWarning=d PropagationForbiddenError=c"; kinds(got) != want {
		t.Errorf("got %s", kinds(got))
	}
	if got[1].LastTransitionTime != &before || !got[2].LastTransitionTime.Equal(&at) {
		t.Error("since when it moves is lost, or since when it is forbidden is not known")
	}
	again := showing(got, []Condition{{Type: forbidden, Message: "c"}, {Type: moving, Message: "d"}}, at)
	if kinds(again) != kinds(got) || again[2] != got[2] {
		t.Error("the same is written again")
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

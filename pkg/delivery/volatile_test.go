package delivery

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// asks adds the feedback rule about fields that change with every comparison.
func asks(w *workv1.ManifestWork) {
	out, _ := work.AskVolatile(w)
	*w = *out
}

// ended adds an operation, ended at the given time, to the hub's status.
func ended(b *fixture.ApplicationBuilder, at string) *fixture.ApplicationBuilder {
	app := b.Runs("Succeeded", began).Obj()
	app.Status.OperationState.FinishedAt = at
	return b.Status(app.Status)
}

// TestVolatile: a work asks for the fields that change with every comparison only while a user waits for a
// comparison.
func TestVolatile(t *testing.T) {
	const earlier, end, later = "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z", "2026-01-01T00:01:30Z"
	rest := func() *fixture.ApplicationBuilder { return app().Reconciled(earlier) }
	tells := func(values ...string) func(*workv1.ManifestWork) { return reports("Healthy", values...) }
	syncs := func(phase, finished, reconciled string) func(*workv1.ManifestWork) {
		return tells("operationStatePhase", phase, "operationStateStartedAt", began, "operationStateFinishedAt", finished, "reconciledAt", reconciled)
	}
	flag := func(name string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			values := &w.Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values
			yes := true
			*values = append(*values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Boolean, Boolean: &yes}})
		}
	}
	dry := func(a *argocd.Application) { a.Status.OperationState.Operation.Sync.DryRun = true }
	over := relay.Sent{State: relay.Delivered, ID: "1-a", Version: "1", Digest: "d"}
	for title, tc := range map[string]struct {
		is     *situation
		want   bool
		writes int
	}{
		"a new one":                          {of(app()), false, 1},
		"a new one, that was elsewhere":      {of(rest()), true, 1},
		"nothing said":                       {of(app()).own(t, quiet, unseenYet), false, 0},
		"the agent tells, not compared":      {of(app()).own(t, quiet, tells(), says("")), false, 0},
		"the agent tells, compared":          {of(app()).own(t, quiet, tells(), says(end)), false, 0},
		"the agent tells, an operation runs": {of(rest()).own(t, quiet, syncs("Running", "", ""), says("")), false, 0},
		"the agent tells, an operation is over": {
			of(ended(rest(), end)).own(t, quiet, syncs("Succeeded", end, ""), says("")), false, 0},
		"the agent tells, a refresh is asked for": {
			of(rest().Annotation(apis.AnnotationRefresh, "hard")).own(t, quiet, tells(), says(earlier)), true, 1},
		"the agent does not tell": {of(app()).own(t, quiet, tells()), true, 1},
		"the agent may tell yet":  {of(app()).own(t, quiet, tells(), notReported), false, 0},
		"the agent tells, the comparison may be the cause of the sync": {
			of(app()).own(t, quiet, tells("operationStatePhase", "Succeeded", "operationStateStartedAt", end, "operationStateFinishedAt", end,
				"syncStatus", "OutOfSync"), flag("operationStateAutomated"), says(end)), true, 1},
		"the agent tells, the sync took a second": {
			of(app()).own(t, quiet, tells("operationStatePhase", "Succeeded", "operationStateStartedAt", earlier, "operationStateFinishedAt", end,
				"syncStatus", "OutOfSync"), flag("operationStateAutomated"), says(end)), false, 0},
		"the work does not ask for the condition": {of(app()).own(t, quiet, unconditional, tells(), says(end)), true, 1},
		"the agent cannot read the Application":   {of(app()).own(t, quiet, tells(), unread), false, 0},
		"not compared":                            {of(app()).own(t, tells()), true, 0},
		"compared, not shown":                     {of(app()).own(t, tells("reconciledAt", earlier)), true, 0},
		"compared, and shown":                     {of(rest()).own(t, asks, tells("reconciledAt", earlier)), false, 1},
		"compared, and an earlier one shown":      {of(rest()).own(t, asks, tells("reconciledAt", later)), true, 0},
		"asked, not answered":                     {of(rest()).own(t, asks, tells()), true, 0},
		"at rest":                                 {of(rest()).own(t, tells()), false, 0},
		"about to sync":                           {of(rest()).own(t, asks, tells("reconciledAt", earlier), flag("operationStarting")), true, 0},
		"an operation runs":                       {of(rest()).own(t, syncs("Running", "", "")), true, 1},
		"an operation is stopped":                 {of(rest()).own(t, syncs("Terminating", "", "")), true, 1},
		"an operation runs, by the hub alone":     {of(rest().Runs("Running", began)).own(t, asks, tells("reconciledAt", earlier)), true, 0},
		"an operation is over":                    {of(rest()).own(t, syncs("Succeeded", end, "")), true, 1},
		"an operation is over, compared before": {
			of(ended(rest(), end)).own(t, asks, syncs("Succeeded", end, earlier)), true, 0},
		"an operation is over, compared since": {
			of(ended(rest(), end)).own(t, asks, syncs("Succeeded", end, later)), true, 0},
		"an operation is over, compared since, and shown": {
			of(ended(app().Reconciled(later), end)).own(t, asks, syncs("Succeeded", end, later)), false, 1},
		"an operation is over, compared in the same second": {
			of(ended(app().Reconciled(end), end)).own(t, asks, syncs("Succeeded", end, end)), false, 1},
		"a dry run": {of(rest()).own(t, syncs("Running", "", ""), flag("operationStateDryRun")), false, 0},
		"a dry run is over": {
			of(ended(rest(), end)).with(func(s *situation) { dry(s.App) }).own(t, syncs("Succeeded", end, ""), flag("operationStateDryRun")), false, 0},
		"a refresh is asked for":    {of(rest().Annotation(apis.AnnotationRefresh, "hard")).own(t, tells()), true, 1},
		"an operation is asked for": {of(rest().Operation(asked1)).own(t, tells()), true, 1},
		"an operation is asked for that may not travel": {
			of(rest().Operation(asked1)).own(t, tells()).with(func(s *situation) { s.OperationRefused = refusal() }), false, 0},
		"an operation is to be stopped": {
			of(rest().Runs("Terminating", began)).own(t, tells("operationStatePhase", "Running", "operationStateStartedAt", began)), true, 1},
		"a dry run is remembered, and runs": {
			of(rest()).own(t, asks, sent(over), tells("operationPending", "1-a", "operationTaken", "1-a", "operationStatePhase", "Running",
				"operationStateStartedAt", began, "reconciledAt", earlier), flag("operationStateDryRun")), true, 0},
		"a dry run is to be stopped": {
			of(rest().Runs("Terminating", began)).with(func(s *situation) { dry(s.App) }).
				own(t, asks, syncs("Running", "", earlier), flag("operationStateDryRun"), func(w *workv1.ManifestWork) {
					sent(relay.Sent{State: relay.Delivered, ID: relay.TerminationID(began), Version: "1"})(w)
				}), true, 0},
		"a dry run is to be stopped, and not sent": {
			of(rest().Runs("Terminating", began)).with(func(s *situation) { dry(s.App) }).own(t, tells()), true, 1},
		"an operation is remembered, and over": {of(rest()).own(t, asks, sent(over), tells("reconciledAt", earlier)), false, 1},
		"not applied":                          {of(app()).own(t, quiet, refuses("no")), false, 0},
		"not answered":                         {of(app()).own(t, quiet, unanswered), false, 0},
		"not answered, and settled":            {of(rest()).own(t, asks, tells("reconciledAt", earlier), unanswered), true, 0},
		"not answered, and a refresh is asked for": {
			of(rest().Annotation(apis.AnnotationRefresh, "hard")).own(t, quiet, unanswered), true, 1},
		"not applied, and settled": {of(rest()).own(t, asks, refuses("no")), true, 0},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			after := tc.is.Own
			for _, s := range plan.Steps {
				after = s.Work
			}
			if got := work.TellsVolatile(after); got != tc.want || len(plan.Steps) != tc.writes {
				t.Errorf("it asks: %t, after %q", got, outline(&plan))
			}
			if tc.writes > 0 && !work.AsksCompared(after) {
				t.Error("it does not ask for the condition")
			}
		})
	}
}

// TestDetails: a work asks for details only while the Application has a condition or is Degraded, and ten minutes more.
func TestDetails(t *testing.T) {
	rest := func() *fixture.ApplicationBuilder { return app().Reconciled(began) }
	failed := func(w *workv1.ManifestWork) { reports("Healthy", "conditionType", "SyncError")(w); says(began)(w) }
	detailed := func(ago time.Duration) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			rules := &w.Spec.ManifestConfigs[0].FeedbackRules
			*rules = append(*rules, feedback.DetailRule())
			c := meta.FindStatusCondition(w.Status.ResourceStatus.Manifests[0].Conditions, feedback.ConditionSynced)
			c.LastTransitionTime = metav1.NewTime(now.Add(-ago))
		}
	}
	healthy := func(w *workv1.ManifestWork) { reports("Healthy")(w); says(began)(w) }
	degraded := func(w *workv1.ManifestWork) { reports("Degraded")(w); says(began)(w) }
	for title, tc := range map[string]struct {
		is   *situation
		want bool
		says []string
	}{
		"healthy":                         {of(rest()).own(t, quiet, healthy), false, []string{}},
		"a condition":                     {of(rest()).own(t, quiet, failed), true, []string{"update cluster1"}},
		"a condition, asked":              {of(rest()).own(t, quiet, failed, detailed(0)), true, []string{}},
		"degraded":                        {of(rest()).own(t, quiet, degraded), true, []string{"update cluster1"}},
		"the condition is gone":           {of(rest()).own(t, quiet, healthy, detailed(4*time.Minute)), true, []string{"after 6m0s"}},
		"the condition is gone, long ago": {of(rest()).own(t, quiet, healthy, detailed(10*time.Minute)), false, []string{"update cluster1"}},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			after := tc.is.Own
			for _, s := range plan.Steps {
				after = s.Work
			}
			if got := outline(&plan); work.TellsDetails(after) != tc.want || !slices.Equal(got, tc.says) {
				t.Errorf("it asks: %t, after %q", work.TellsDetails(after), got)
			}
		})
	}
}

// says sets the agent's condition about the cluster's comparison; an empty time means not yet.
func says(since string) func(*workv1.ManifestWork) {
	return evaluates(func(b *fixture.FeedbackBuilder) { b.Compared(since) })
}

// evaluates adds the agent's answers to the condition rules to the reported values.
func evaluates(answers func(*fixture.FeedbackBuilder)) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		m := &w.Status.ResourceStatus.Manifests[0]
		b := fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier)
		for _, v := range m.StatusFeedbacks.Values {
			b.Value(v.Name, v.Value)
		}
		answers(b)
		said := b.Obj().ResourceStatus.Manifests[0]
		m.Conditions, m.StatusFeedbacks = said.Conditions, said.StatusFeedbacks
	}
}

// notReported sets the report of an agent that has applied a work, but has reported about an earlier generation.
func notReported(w *workv1.ManifestWork) {
	meta.FindStatusCondition(w.Status.Conditions, workv1.WorkAvailable).ObservedGeneration--
}

// unread sets the report of an agent that has applied a work, and cannot read the applied Application.
func unread(w *workv1.ManifestWork) {
	meta.FindStatusCondition(w.Status.Conditions, workv1.WorkAvailable).Status = metav1.ConditionUnknown
}

// unconditional removes the condition rules, as in a work from an earlier Towline.
func unconditional(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].ConditionRules = nil }

// quiet removes the feedback rules about fields that change with every comparison.
func quiet(w *workv1.ManifestWork) {
	rules := &w.Spec.ManifestConfigs[0].FeedbackRules
	*rules = (*rules)[:1]
}

// TestTerminationAtTheEnd: before a leaving work carries a termination, the work first asks for the Application's
// version.
func TestTerminationAtTheEnd(t *testing.T) {
	s := of(deletedApp(cascading()).Runs("Terminating", began))
	for _, want := range []struct{ asks, carries bool }{{true, false}, {true, true}} {
		if s.Own == nil {
			s.own(t, quiet, runsAnOperation)
		}
		plan := Decide(s.Facts, s.Options)
		if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate {
			t.Fatalf("got %q", outline(&plan))
		}
		w := plan.Steps[0].Work
		if work.TellsVolatile(w) != want.asks || work.CarriesRequest(w) != want.carries {
			t.Errorf("it asks: %t, it carries the termination: %t", work.TellsVolatile(w), work.CarriesRequest(w))
		}
		w.Generation++
		runsAnOperation(w)
		s.Own = w
	}
	s.Own.Status.Conditions[0].Status = metav1.ConditionTrue
	if plan := Decide(s.Facts, s.Options); len(plan.Steps) != 0 {
		t.Errorf("it is asked for again: %q", outline(&plan))
	}
}

package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// well returns the status of an Application without problems.
func well(edits ...func(*argocd.Status)) argocd.Status {
	s := argocd.Status{
		Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "Synced", Revision: "abc"},
		OperationState: &argocd.OperationState{Phase: "Succeeded"}, ReconciledAt: noon.Format(time.RFC3339),
	}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func condition(conditionType, message string) func(*argocd.Status) {
	return func(s *argocd.Status) {
		s.Conditions = append(s.Conditions, argocd.Condition{Type: conditionType, Message: message})
	}
}

func health(code string) func(*argocd.Status) {
	return func(s *argocd.Status) { s.Health.Status = code }
}

// app returns an Application of the set guestbook.
func app(name string, edits ...func(*argocd.Status)) *argocd.Application {
	return fixture.Application(name).ApplicationSet("guestbook").Status(well(edits...)).Obj()
}

// TestBecause checks that a reason appears only once.
func TestWithReason(t *testing.T) {
	for want, of := range map[string][2]string{
		"": {"", ""}, "R": {"R", ""}, "R: m": {"R", "m"}, "m": {"", "m"},
		"Degraded": {"Degraded", "Degraded"}, "Degraded: ui": {"Degraded", "Degraded: ui"},
		"Sync: Sync of ui failed": {"Sync", "Sync of ui failed"},
	} {
		if got := view.WithReason(of[0], of[1]); got != want {
			t.Errorf("%q: got %q, want %q", of, got, want)
		}
	}
}

// TestBeside checks that a longer first word with the reason as prefix stays whole.
func TestWithoutReason(t *testing.T) {
	for _, tc := range []struct{ reason, message, want string }{
		{"", "", ""},
		{"", "m", "m"},
		{"", ": m", ": m"},
		{"R", "m", "m"},
		{"Degraded", "Degraded", ""},
		{"Degraded", "Degraded: ui", "ui"},
		{"Degraded", "Degraded; ui", "ui"},
		{"Degraded", "DegradedReplicas: 3", "DegradedReplicas: 3"},
		{"Sync", "Sync of ui failed", "Sync of ui failed"},
	} {
		if got := view.WithoutReason(tc.reason, tc.message); got != tc.want {
			t.Errorf("%q, %q: got %q, want %q", tc.reason, tc.message, got, tc.want)
		}
	}
}

// TestRows checks that an Application and its row in a report have the same state. Towline's own code builds the
// report.
func TestRows(t *testing.T) {
	for title, tc := range map[string]struct {
		is     func(*argocd.Status)
		state  why.State
		link   string
		reason string
	}{
		"all is well": {func(*argocd.Status) {}, why.OK, "", ""},
		"no right": {
			condition(apis.ConditionPropagationForbiddenError, "no"), why.Blocked, why.LinkRights, apis.ConditionPropagationForbiddenError,
		},
		"paused":              {condition(apis.ConditionPausedWarning, "no"), why.Blocked, why.LinkTarget, apis.ConditionPausedWarning},
		"moves":               {condition(apis.ConditionMoveWarning, "no"), why.Waiting, why.LinkTarget, apis.ConditionMoveWarning},
		"a dependency":        {condition(apis.ConditionDependencyError, "no"), why.Blocked, why.LinkDependencies, apis.ConditionDependencyError},
		"the agent refuses":   {condition(apis.ConditionWorkApplyError, "no"), why.Blocked, why.LinkAgent, apis.ConditionWorkApplyError},
		"gone there":          {condition(apis.ConditionWorkAvailableWarning, "no"), why.Blocked, why.LinkAgent, apis.ConditionWorkAvailableWarning},
		"not compared":        {condition(apis.ConditionNotCompared, "no"), why.Blocked, why.LinkArgoCD, apis.ConditionNotCompared},
		"a comparison failed": {condition("ComparisonError", "no"), why.Blocked, why.LinkArgoCD, "ComparisonError"},
		"out of sync":         {func(s *argocd.Status) { s.Sync.Status = "OutOfSync" }, why.Blocked, why.LinkArgoCD, "OutOfSync"},
		"not compared as it is": {
			func(s *argocd.Status) { s.Sync = &argocd.Sync{Status: "Unknown"} }, why.Waiting, why.LinkArgoCD, "Unknown",
		},
		"a comparison failed, of what is": {func(s *argocd.Status) {
			s.Sync = &argocd.Sync{Status: "Unknown"}
			condition("ComparisonError", "no")(s)
		}, why.Blocked, why.LinkArgoCD, "ComparisonError"},
		"on its way":           {health("Progressing"), why.Waiting, why.LinkResources, "Progressing"},
		"degraded":             {health("Degraded"), why.Blocked, why.LinkResources, "Degraded"},
		"nothing heard so far": {func(s *argocd.Status) { *s = argocd.Status{} }, why.Waiting, why.LinkArgoCD, ""},
	} {
		t.Run(title, func(t *testing.T) {
			a := app("guestbook", tc.is)
			got := view.OfApplication(a)
			if got.State != tc.state || got.Link != tc.link || got.Reason != tc.reason {
				t.Errorf("got %+v", got)
			}
			seen := a.Status
			seen.Conditions = nil
			for _, c := range a.Status.Conditions {
				if apis.ConditionRuleOf(c.Type).Owner == "" {
					seen.Conditions = append(seen.Conditions, c)
				}
			}
			row := report.Observe(a, &observed.Facts{Status: seen, Complete: true}, "", nil).Row
			row.ObservedAt = metav1.NewTime(noon)
			reported := view.OfReport("guestbook", &row)
			got.Heard = &noon
			if diff := cmp.Diff(got, reported); diff != "" {
				t.Errorf("(-Application +report):\n%s", diff)
			}
		})
	}
}

// TestAway checks the row of a report for an unavailable cluster. Its condition type differs from the Application's
// type, but the state is the same.
func TestAway(t *testing.T) {
	row := report.Observe(app("guestbook"), nil, "cluster cluster1 has not been available since noon", nil).Row
	got := view.OfReport("guestbook", &row)
	if got.State != why.Blocked || got.Link != why.LinkAgent || got.Reason != apis.ConditionClusterUnreachableWarning {
		t.Errorf("got %+v", got)
	}
}

// TestOddRow checks that an unusual row of a different controller's report is accepted.
func TestOddRow(t *testing.T) {
	got := view.OfReport("s", &v1alpha1.ClusterCondition{App: "guestbook", Cluster: "cluster1"})
	if got.Cluster != "cluster1" || got.Set != "s" || got.Name != "" {
		t.Errorf("got %+v", got)
	}
}

// TestSetOfReport checks that the state follows the report's condition Ready, if present.
func TestSetOfReport(t *testing.T) {
	of := func(good bool, edits ...func(*argocd.Status)) *view.Set {
		set := report.NewSet(nil)
		for name, e := range map[string][]func(*argocd.Status){"a": nil, "b": edits} {
			a := app(name, e...)
			set.Put(types.NamespacedName{Namespace: a.Namespace, Name: name}, report.Observe(a, &observed.Facts{Status: a.Status}, "", nil))
		}
		r := set.Build(types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, "", report.MaxBytes)
		if !good {
			r.Status.Conditions = nil // as with the CRD of another product
		}
		return view.SetOfReport(r)
	}
	for title, tc := range map[string]struct {
		is    *view.Set
		state why.State
		first string
		says  string
	}{
		"good":                    {of(true), why.OK, "a", "2 of 2"},
		"good, no condition":      {of(false), why.OK, "a", ""},
		"one is degraded":         {of(true, health("Degraded")), why.Blocked, "b", "1 of 2"},
		"degraded, no condition":  {of(false, health("Degraded")), why.Blocked, "b", ""},
		"one is on its way":       {of(true, health("Progressing")), why.Waiting, "b", "1 progressing"},
		"one has an error":        {of(true, condition("ComparisonError", "no path")), why.Blocked, "b", "2 of 2"},
		"one is paused, and well": {of(true, condition(apis.ConditionPausedWarning, "paused")), why.OK, "b", "2 of 2"},
	} {
		s := tc.is
		if s.State != tc.state || s.Rows[0].Name != tc.first || !strings.Contains(s.Message, tc.says) || s.Applications != 2 || s.Synced != 2 {
			t.Errorf("%s: %+v", title, s)
		}
	}
}

// TestTruncated checks that the omitted rows of a report are counted.
func TestTruncated(t *testing.T) {
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	r.Statuses.ClusterConditions = make([]v1alpha1.ClusterCondition, 3)
	r.Statuses.Summary = v1alpha1.ReportSummary{Omitted: "97", Healthy: "90", Synced: "80", Unreachable: "x"}
	if s := view.SetOfReport(r); s.Omitted != 97 || s.Applications != 100 || s.Healthy != 90 || s.Synced != 80 || s.Unreachable != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestSetOfApplications checks the state of a set without a report, from its Applications.
func TestSetOfApplications(t *testing.T) {
	rows := []view.Row{view.OfApplication(app("a")), view.OfApplication(app("b", condition(apis.ConditionClusterUnreachableWarning, "away")))}
	s := view.SetOfApplications("argocd", "guestbook", rows)
	if s.State != why.Blocked || s.Unreachable != 1 || s.Healthy != 2 || s.Synced != 2 || s.Rows[0].Name != "b" {
		t.Errorf("got %+v", s)
	}
	if s := view.SetOfApplications("argocd", "empty", nil); s.State != why.OK {
		t.Errorf("one without Applications is %s", s.State)
	}
}

// TestWaves checks that steps are sorted by number, and that unknown words of a newer Argo CD count as waiting.
func TestWaves(t *testing.T) {
	s := view.SetOfApplications("argocd", "guestbook", []view.Row{view.OfApplication(app("a"))})
	if s.RollOut([]view.Step{{Step: "1", Status: "Healthy"}}); s.State != why.OK || len(s.Waves) != 1 {
		t.Errorf("a rollout that is done: %+v", s)
	}
	s.RollOut([]view.Step{
		{Step: "10", Status: "Waiting"}, {Step: "2", Status: "Progressing"}, {Step: "2", Status: "Pending"}, {Step: "1", Status: "Healthy"},
		{Step: "1", Status: "Healthy"}, {Step: "2", Status: "Odd"},
	})
	got := s.Waves
	if s.State != why.Waiting {
		t.Errorf("a rollout that is not done: %s", s.State)
	}
	want := []view.Wave{
		{Step: 1, Applications: 2, Healthy: 2}, {Step: 2, Applications: 3, Progressing: 1, Pending: 1, Waiting: 1},
		{Step: 10, Applications: 1, Waiting: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAwaitedStep checks that an Application waits before its step begins, and is blocked afterwards.
func TestAwaitedStep(t *testing.T) {
	late := func(s *argocd.Status) { s.Sync.Status = "OutOfSync" }
	for status, state := range map[string]why.State{"Waiting": why.Waiting, "Pending": why.Waiting, "Progressing": why.Blocked} {
		s := view.SetOfApplications("argocd", "guestbook", []view.Row{view.OfApplication(app("a")), view.OfApplication(app("b", late))})
		s.RollOut([]view.Step{{Application: "a", Step: "1", Status: "Healthy"}, {Application: "b", Step: "2", Status: status}})
		if s.State != state || s.Rows[0].Name != "b" || s.Rows[0].State != state || s.Counts.OK != 1 {
			t.Errorf("%s: %+v", status, s)
		}
	}
}

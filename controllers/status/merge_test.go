package status

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
)

// known returns a status with every field that an observation may lack.
func known() argocd.Status {
	return argocd.Status{
		Health: argocd.Health{Status: "Degraded", Message: "why", LastTransitionTime: "2026-01-02T03:04:05Z"},
		Sync:   &argocd.Sync{Status: "OutOfSync", Revision: "a"},
		OperationState: &argocd.OperationState{
			Phase: "Failed", StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:07Z", Message: "it failed", RetryCount: 2,
			SyncResult: &argocd.SyncResult{Revision: "a"},
			Operation:  argocd.Operation{InitiatedBy: &argocd.Initiator{Username: "me"}, Sync: argocd.SyncOperation{DryRun: true}},
		},
	}
}

// TestMergeOfComparisons: the hub shows the later comparison, except if the cluster reports no comparison since its
// last operation.
func TestMergeOfComparisons(t *testing.T) {
	const earlier, end, later = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", "2026-01-02T03:04:07Z"
	for title, tc := range map[string]struct {
		shown, says string
		compared    bool
		uncompared  string
		ended       string // end of the shown operation
		want        string
	}{
		"the first comparison":                               {"", end, false, "", "", end},
		"a later comparison":                                 {earlier, end, false, "", "", end},
		"an earlier comparison":                              {later, end, false, "", "", later},
		"an earlier comparison that is known to be the last": {later, end, true, "", "", end},
		"no time reported":                                   {later, "", false, "", "", later},
		"not compared, and shown before":                     {earlier, "", false, end, "", earlier},
		"not compared, and shown as if":                      {later, "", false, end, "", ""},
		"… though the end is shown":                          {later, "", false, end, end, ""},
		"… in the same second":                               {end, "", false, end, "", ""},
		"… after an operation before":                        {end, "", false, end, earlier, ""},
		"… and another source knows":                         {later, end, false, end, "", later},
		"compared, and taken back":                           {end, "", false, end, end, end},
	} {
		t.Run(title, func(t *testing.T) {
			current := &argocd.Status{ReconciledAt: tc.shown}
			if tc.ended != "" {
				current.OperationState = &argocd.OperationState{Phase: "Succeeded", FinishedAt: tc.ended}
			}
			facts := &observed.Facts{Status: argocd.Status{ReconciledAt: tc.says}, Compared: tc.compared, Uncompared: tc.uncompared}
			if got := merge(current, facts, nil, metav1.Now()).ReconciledAt; got != tc.want {
				t.Errorf("it shows %q", got)
			}
		})
	}
}

// TestMergeOfAPartialObservation: a value that a partial observation lacks stays while the state is the same, and
// goes with a new state. After a complete observation, a missing value goes.
func TestMergeOfAPartialObservation(t *testing.T) {
	same := argocd.Status{
		Health:         argocd.Health{Status: "Degraded"},
		Sync:           &argocd.Sync{Status: "OutOfSync"},
		OperationState: &argocd.OperationState{Phase: "Failed", StartedAt: "2026-01-02T03:04:05Z"},
	}
	next := argocd.Status{
		Health:         argocd.Health{Status: "Healthy"},
		Sync:           &argocd.Sync{Status: "Synced"},
		OperationState: &argocd.OperationState{Phase: "Succeeded", StartedAt: "2026-01-02T04:04:05Z"},
	}
	for title, tc := range map[string]struct {
		facts *observed.Facts
		want  argocd.Status
	}{
		"no observation":                {nil, known()},
		"the same state, in part":       {&observed.Facts{Status: same}, known()},
		"the same state, complete":      {&observed.Facts{Status: same, Complete: true}, same},
		"a new state, in part":          {&observed.Facts{Status: next}, next},
		"a new state, complete":         {&observed.Facts{Status: next, Complete: true}, next},
		"no Application on the cluster": {&observed.Facts{Complete: true}, argocd.Status{}},
	} {
		t.Run(title, func(t *testing.T) {
			current := known()
			got := merge(&current, tc.facts, nil, metav1.Now())
			got.Conditions = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(known(), current); diff != "" {
				t.Errorf("what was known is changed in place:\n%s", diff)
			}
		})
	}
}

// TestWhyDegraded: the condition comes and goes with the health Degraded, also with a partial observation.
func TestWhyDegraded(t *testing.T) {
	facts := func(health string, complete bool, reasons ...string) *observed.Facts {
		f := &observed.Facts{Status: argocd.Status{Health: argocd.Health{Status: health}}, Complete: complete}
		for _, why := range reasons {
			f.Status.Resources = append(f.Status.Resources, argocd.ResourceStatus{
				Kind: "Deployment", Name: "ui", Health: &argocd.Health{Status: "Degraded", Message: why},
			})
		}
		return f
	}
	before := merge(&argocd.Status{}, facts("Degraded", true, "no progress"), nil, metav1.Now())
	for title, tc := range map[string]struct {
		facts *observed.Facts
		want  string
	}{
		"no observation":                {nil, "Deployment ui: no progress"},
		"the same reason":               {facts("Degraded", true, "no progress"), "Deployment ui: no progress"},
		"a new reason":                  {facts("Degraded", true, "no such image"), "Deployment ui: no such image"},
		"no reason any more":            {facts("Degraded", true), ""},
		"no reason, as far as read":     {facts("Degraded", false), "Deployment ui: no progress"},
		"healthy":                       {facts("Healthy", true), ""},
		"healthy, as far as read":       {facts("Healthy", false), ""},
		"healthy, and old resources":    {facts("Healthy", true, "no progress"), ""},
		"no Application on the cluster": {facts("", true), ""},
		"unread":                        {facts("", false), "Deployment ui: no progress"},
		"of an Argo CD that persists":   {facts("Progressing", true, "no progress"), ""},
	} {
		t.Run(title, func(t *testing.T) {
			got := merge(&before, tc.facts, nil, metav1.Now())
			message := ""
			if i := argocd.IndexCondition(got.Conditions, apis.ConditionResourcesDegraded); i >= 0 {
				message = got.Conditions[i].Message
			}
			if message != tc.want {
				t.Errorf("got %q, want %q", message, tc.want)
			}
			if len(got.Resources) > 0 {
				t.Errorf("one resource passes for all: %+v", got.Resources)
			}
		})
	}
}

// TestAgeOfObservations: outdated information gets a condition with the time of the information, and the condition is
// written once.
func TestAgeOfObservations(t *testing.T) {
	app := fixture.Application("guestbook").Cluster("cluster1").Obj()
	facts := &observed.Facts{Complete: true, NotComparedSince: metav1.Unix(1_700_000_000, 0), StaleSince: metav1.Unix(1_700_000_060, 999)}
	app.Status = merge(&app.Status, facts, age(app, facts), metav1.Now())
	for conditionType, want := range map[string]struct {
		says  string
		since int64
	}{
		apis.ConditionNotCompared:    {"cluster cluster1 has not compared the Application with Git since 2023-11-14T22:13:20Z", 1_700_000_000},
		apis.ConditionResourcesStale: {"has not answered for cluster cluster1 since 2023-11-14T22:14:20Z", 1_700_000_060},
	} {
		i := argocd.IndexCondition(app.Status.Conditions, conditionType)
		if i < 0 {
			t.Errorf("no %s", conditionType)
			continue
		}
		if c := app.Status.Conditions[i]; !strings.Contains(c.Message, want.says) || c.LastTransitionTime.Unix() != want.since {
			t.Errorf("got %+v", c)
		}
	}
	data, err := json.Marshal(app.Status)
	if err != nil || json.Unmarshal(data, &app.Status) != nil { // as stored by the API server
		t.Fatal(err)
	}
	if patch, err := diff(app, merge(&app.Status, facts, age(app, facts), metav1.Now())); err != nil || patch.Data(app) != nil {
		t.Errorf("the same is written again: %+v, %v", patch, err)
	}
	if got := merge(&app.Status, &observed.Facts{}, nil, metav1.Now()); len(got.Conditions) > 0 {
		t.Errorf("left: %+v", got.Conditions)
	}
}

// TestAHydrationIsTriedAgain: the condition about a failed hydration stays while Argo CD tries again, and goes after a
// success.
func TestAHydrationIsTriedAgain(t *testing.T) {
	failed := []argocd.Condition{{Type: apis.ConditionHydrationError, Message: "no path"}}
	for title, tc := range map[string]struct {
		facts observed.Facts
		stays bool
	}{
		"tried again":                  {observed.Facts{Complete: true, Hydrating: true}, true},
		"tried again, told of in part": {observed.Facts{Hydrating: true}, true},
		"hydrated":                     {observed.Facts{Complete: true}, false},
	} {
		got := merge(&argocd.Status{Conditions: failed}, observed.Combine(&observed.Facts{Source: "agent", Complete: true}, &tc.facts), nil, metav1.Now())
		if stays := len(got.Conditions) == 1 && got.Conditions[0].Message == "no path"; stays != tc.stays {
			t.Errorf("%s: got %v", title, got.Conditions)
		}
	}
}

// TestAnOperationIsShownInTheVersionThatWasRead: a patch of the operation is bound to the version of the Application,
// because a user requests a termination in the same field. All remaining patches are not bound.
func TestAnOperationIsShownInTheVersionThatWasRead(t *testing.T) {
	app, status := fixture.Application("guestbook").Obj(), known()
	app.ResourceVersion = "1"
	const version = `"resourceVersion":"1"`
	if patch, err := diff(app, status); err != nil || !strings.Contains(string(patch.Data(app)), version) {
		t.Errorf("an operation is shown in any version: %s, %v", patch.Data(app), err)
	}
	app.Status = status
	status.Health.Status = "Healthy"
	if patch, err := diff(app, status); err != nil || patch.Data(app) == nil || strings.Contains(string(patch.Data(app)), version) {
		t.Errorf("another change is bound to the version: %s, %v", patch.Data(app), err)
	}
}

package appreport_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
)

// large returns an Application with n resources and results. Every hundredth has a problem.
func large(t *testing.T, n, message int) *argocd.Application {
	t.Helper()
	app := cluster(t, whole)
	app.Status.Resources = nil
	results := &app.Status.OperationState.SyncResult.Resources
	*results = nil
	for i := range n {
		r := argocd.ResourceStatus{Version: "v1", Kind: "ConfigMap", Namespace: "guestbook", Name: fmt.Sprintf("config-%05d", i),
			Status: "Synced", Health: &argocd.Health{Status: "Healthy"}}
		result := argocd.ResourceResult{Version: "v1", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Status: "Synced",
			Message: strings.Repeat("m", message), HookPhase: "Running", SyncPhase: "Sync"}
		if i%100 == 99 {
			r.Status, r.Health.Status = "OutOfSync", "Missing"
			result.Status, result.HookPhase = "SyncFailed", "Failed"
		}
		app.Status.Resources = append(app.Status.Resources, r)
		*results = append(*results, result)
	}
	return app
}

func TestFit(t *testing.T) {
	tests := map[string]struct {
		app        *argocd.Application
		want       *v1alpha1.Truncated // counts only as "some" or "none"
		allTrouble bool
	}{
		"small":         {app: large(t, 100, 10), allTrouble: true},
		"long messages": {app: large(t, 300, 1500), want: &v1alpha1.Truncated{Messages: true}, allTrouble: true},
		"a thousand resources": {app: large(t, 1000, 300), allTrouble: true,
			want: &v1alpha1.Truncated{Messages: true, History: 1, Images: 1, ExternalURLs: 1, Results: 1}},
		"three thousand resources": {app: large(t, 3000, 10), allTrouble: true,
			want: &v1alpha1.Truncated{History: 1, Images: 1, ExternalURLs: 1, Results: 1, Resources: 1}},
		"twenty thousand resources": {app: large(t, 20000, 10),
			want: &v1alpha1.Truncated{History: 1, Images: 1, ExternalURLs: 1, Results: 1, Resources: 1}},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			r := appreport.Build(tc.app, seen)
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > v1alpha1.MaxReportSize {
				t.Errorf("%d bytes", len(data))
			}
			if diff := cmp.Diff(tc.want, some(r.Truncated)); diff != "" {
				t.Errorf("left out (-want +got), %+v:\n%s", r.Truncated, diff)
			}
			if r.Truncated != nil && r.Truncated.Summary == "" {
				t.Error("it does not say so in words")
			}
			troubles := func(s *argocd.Status) (names []string) {
				for _, resource := range s.Resources {
					if resource.Status != "Synced" {
						names = append(names, resource.Name)
					}
				}
				return names
			}
			if tc.allTrouble && !slices.Equal(troubles(&tc.app.Status), troubles(&r.Status)) {
				t.Error("a resource that needs attention was left out")
			}
			if got := appreport.Read(r, key); !cmp.Equal(got.Truncated, r.Truncated) || !cmp.Equal(got.Status, r.Status) {
				t.Error("the hub leaves out more than the agent")
			}
			if again := appreport.Build(tc.app, seen); appreport.Digest(again) != appreport.Digest(r) {
				t.Error("the same Application gives two reports")
			}
		})
	}
}

// some reduces counts above zero to 1.
func some(t *v1alpha1.Truncated) *v1alpha1.Truncated {
	if t == nil {
		return nil
	}
	return &v1alpha1.Truncated{Messages: t.Messages, Resources: min(t.Resources, 1), Results: min(t.Results, 1),
		Conditions: min(t.Conditions, 1), History: min(t.History, 1), Images: min(t.Images, 1), ExternalURLs: min(t.ExternalURLs, 1)}
}

func TestFitKeepsTheNewestHistory(t *testing.T) {
	app := cluster(t, whole)
	for i := range int64(30) {
		app.Status.History = append(app.Status.History, argocd.Deployment{ID: 10 + i, DeployedAt: "2026-01-02T03:04:05Z"})
	}
	r := appreport.Build(app, seen)
	if len(r.Status.History) != 10 || r.Status.History[9].ID != 39 {
		t.Errorf("got %+v", r.Status.History)
	}
	if r.Truncated != nil {
		t.Errorf("a history of the usual length counts as truncated: %+v", r.Truncated)
	}
}

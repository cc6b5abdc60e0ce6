package report_test

import (
	"fmt"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/report"
)

// TestStates writes the reports for the contract tests. The contract tests check the health that Argo CD on a higher
// hub computes with deploy/argocd-health. Each report has one healthy Application in addition to its title, except the
// empty report.
func TestStates(t *testing.T) {
	const away = "cluster away has not been available since yesterday"
	for title, fill := range map[string]func(*report.Set){
		"healthy":     func(s *report.Set) { put(s, app("second").Obj(), seen("Healthy", "Synced").Obj(), "") },
		"unreported":  func(s *report.Set) { put(s, app("new").Obj(), nil, "") },
		"progressing": func(s *report.Set) { put(s, app("busy").Obj(), seen("Progressing", "Synced").Obj(), "") },
		"not-synced":  func(s *report.Set) { put(s, app("late").Obj(), seen("Healthy", "OutOfSync").Obj(), "") },
		"suspended":   func(s *report.Set) { put(s, app("halted").Obj(), seen("Suspended", "Synced").Obj(), "") },
		"degraded": func(s *report.Set) {
			put(s, app("broken").Obj(), seen("Degraded", "Synced").Obj(), "")
			put(s, app("busy").Obj(), seen("Progressing", "Synced").Obj(), "")
			put(s, app("away").Obj(), seen("Healthy", "Synced").Obj(), away)
		},
		"blocked": func(s *report.Set) {
			put(s, app("").Condition(apis.ConditionPropagationError, "no cluster is named").Obj(), nil, "")
		},
		"unreachable": func(s *report.Set) {
			put(s, app("away").Obj(), seen("Healthy", "Synced").Obj(), away)
			put(s, app("busy").Obj(), seen("Progressing", "Synced").Obj(), "")
		},
		"not-compared": func(s *report.Set) {
			put(s, app("idle").Condition(apis.ConditionNotCompared, "nothing compared since noon").Obj(), seen("Healthy", "Synced").Obj(), "")
		},
	} {
		t.Run(title, func(t *testing.T) {
			s := report.NewSet(nil)
			put(s, app("first").Obj(), seen("Healthy", "Synced").Obj(), "")
			fill(s)
			equal(t, "state-"+title, build(s))
		})
	}
	equal(t, "state-empty", build(report.NewSet(nil)))

	s := report.NewSet(nil)
	for i := range 500 {
		health := "Healthy"
		if i%25 == 0 {
			health = "Progressing"
		}
		put(s, app(fmt.Sprintf("cluster%03d", i)).Obj(), seen(health, "Synced").Obj(), "")
	}
	equal(t, "state-truncated", s.Build(guestbook, owner, 12<<10))
}

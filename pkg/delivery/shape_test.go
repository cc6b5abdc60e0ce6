package delivery

import (
	"testing"

	"github.com/towline-io/towline/pkg/fixture/shape"
)

// TestShape: few functions can change a plan, and the chains of calls are short. The checks and steps of all lists
// are counted.
func TestShape(t *testing.T) {
	shape.Users(t, "decision", 39)
	shape.Users(t, "relaying", 16)
	shape.Depth(t, "Decide", 8)
}

// TestReadingOrder: a reader who follows a call seldom goes back to an earlier file.
func TestReadingOrder(t *testing.T) {
	shape.Upward(t, []string{
		"doc.go", "gates.go", "decide.go",
		"revoke.go", "orphan.go", "end.go", "outage.go", "deliver.go", "move.go", "relocate.go", "release.go", "handover.go", "remove.go", "freeze.go",
		"relay.go", "operation.go", "adopt.go", "edits.go", "advance.go",
		"checks.go", "target.go", "older.go", "grant.go", "application.go", "source.go", "pause.go",
		"standing.go", "project.go", "volatile.go", "gate.go", "draft.go", "events.go", "conditions.go", "view.go", "plan.go", "facts.go",
	}, 5)
}

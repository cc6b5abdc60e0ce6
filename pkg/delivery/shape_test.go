package delivery

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/fixture/shape"
)

// TestShape: few functions can change a plan, and the chains of calls are short. The checks and steps of all lists
// are counted.
func TestShape(t *testing.T) {
	shape.Users(t, "decision", 39)
	shape.Users(t, "relaying", 10)
	shape.Depth(t, "Decide", 8)
}

// TestReadingOrder: a reader who follows a call seldom goes back to an earlier file.
func TestReadingOrder(t *testing.T) {
	shape.Upward(t, []string{
		"doc.go", "gates.go", "decide.go",
		"revoke.go", "orphan.go", "end.go", "outage.go", "deliver.go", "move.go", "relocate.go", "release.go", "handover.go", "remove.go", "freeze.go",
		"relay.go", "operation.go", "adopt.go", "edits.go", "advance.go",
		"checks.go", "target.go", "older.go", "grant.go", "application.go", "source.go", "pause.go",
		"standing.go", "project.go", "volatile.go", "state.go", "gate.go", "draft.go", "events.go", "conditions.go", "view.go", "plan.go", "facts.go",
	}, 5)
}

// TestOneReaderOfStatuses: only state.go reads the agent's answer about a work, so that a change of each part that a
// decision reads wakes the controller.
func TestOneReaderOfStatuses(t *testing.T) {
	reads := regexp.MustCompile(`work\.(Outcome|Found(Released)?|Reported|Outdated|Refused(By|ForEdit|ForMark)?|SideManifestsKept|Absent)\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	readers := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") && reads.Match(text) {
			readers[file] = true
		}
	}
	if !maps.Equal(readers, map[string]bool{"state.go": true}) {
		t.Errorf("read in %v", readers)
	}
}

package feedback_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/feedback"
)

// TestDocumentedPaths: docs/reference.md and docs/scale.md name the number of paths that every work asks for.
func TestDocumentedPaths(t *testing.T) {
	filtered, all := 0, 0
	for _, rule := range feedback.Rules(0) {
		for _, path := range rule.JsonPaths {
			all++
			if strings.Contains(path.Path, "[?(") {
				filtered++
			}
		}
	}
	for page, want := range map[string][]string{
		"reference.md": {fmt.Sprintf("| %d paths without a filter:", all-filtered), fmt.Sprintf("| %d paths with a filter:", filtered)},
		"scale.md":     {fmt.Sprintf("| Towline: %d paths, %d of them with a filter,", all, filtered)},
	} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("docs/%s does not contain %q", page, part)
			}
		}
	}
}

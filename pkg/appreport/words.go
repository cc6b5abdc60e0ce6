package appreport

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// inWords describes the dropped parts, for people.
func inWords(t *v1alpha1.Truncated) string {
	var parts []string
	for _, part := range []struct {
		count int32
		of    string
	}{
		{t.Resources, "resources"}, {t.Tree, "live resources"}, {t.Results, "sync results"}, {t.Conditions, "conditions"},
		{t.History, "history entries"}, {t.Images, "images"}, {t.ExternalURLs, "addresses"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.of))
		}
	}
	switch {
	case len(parts) == 0:
		return "messages were cut"
	case t.Messages:
		return "left out: " + strings.Join(parts, ", ") + "; messages were cut"
	}
	return "left out: " + strings.Join(parts, ", ")
}

package feedback_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestParseHydration(t *testing.T) {
	failed := []argocd.Condition{{Type: apis.ConditionHydrationError, Message: "Failed to hydrate: no path"}}
	for title, tc := range map[string]struct {
		phase, message string
		want           []argocd.Condition
	}{
		"failed":      {"Failed", "Failed to hydrate: no path", failed},
		"unclean":     {"Failed", "Failed to hydrate: no\x1bpath", failed},
		"under way":   {"Hydrating", "", nil},
		"hydrated":    {"Hydrated", "", nil},
		"not a phase": {"Broken", "Failed to hydrate", nil},
		"no phase":    {"", "Failed to hydrate", nil},
	} {
		b := fixture.Feedback(id)
		if tc.phase != "" {
			b.String("hydrationPhase", tc.phase)
		}
		got := parse(b.String("hydrationMessage", tc.message))
		if diff := cmp.Diff(tc.want, got.Status.Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
		if got.Hydrating != (tc.phase == "Hydrating") {
			t.Errorf("%s: hydrating: %t", title, got.Hydrating)
		}
	}
}

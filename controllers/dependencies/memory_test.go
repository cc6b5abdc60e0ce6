package dependencies

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestTurns: after a decision, the next decision about the same work waits longer on a larger cluster, and an ended wait is
// forgotten.
func TestTurns(t *testing.T) {
	var turns turns
	now := time.Now()
	small, large := types.NamespacedName{Namespace: "small", Name: "project"}, types.NamespacedName{Namespace: "large", Name: "project"}
	if left := turns.left(large, now); left != 0 {
		t.Errorf("the first decision waits %s", left)
	}
	turns.took(small, now, 2*turnPerWork)
	turns.took(large, now, 500*turnPerWork)
	for key, want := range map[types.NamespacedName]time.Duration{small: 2 * turnPerWork, large: 500 * turnPerWork} {
		if left := turns.left(key, now); left != want {
			t.Errorf("%s waits %s, not %s", key, left, want)
		}
		if left := turns.left(key, now.Add(want)); left != 0 {
			t.Errorf("%s waits %s longer", key, left)
		}
	}
	turns.took(large, now.Add(time.Minute), 0)
	if len(turns.until) > 0 {
		t.Errorf("still remembered: %v", turns.until)
	}
}

package dependencies

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func TestNudgedOnceForTheSameDependencies(t *testing.T) {
	var n nudged
	app, now := types.NamespacedName{Namespace: "argocd", Name: "web"}, time.Unix(1_700_000_000, 0)
	for i, step := range []struct {
		with  string
		at    time.Duration
		nudge bool
		after time.Duration
	}{
		{"a", 0, false, settled},
		{"a", settled / 2, false, settled / 2},
		{"ab", settled, false, settled}, // another has come meanwhile
		{"ab", 2 * settled, true, 0},
		{"ab", 9 * settled, false, 0},
		{"b", 9 * settled, false, settled},
		{"b", 10 * settled, true, 0},
	} {
		nudge, after := n.next(app, step.with, now.Add(step.at))
		if nudge != step.nudge || after != step.after {
			t.Errorf("step %d: %t, %s", i, nudge, after)
		}
	}
	n.forget(app)
	if len(n.last) != 0 {
		t.Error("it is still remembered")
	}
}

// TestNudgedForgetsWhatIsGone: also an Application that no finalizer holds, whose end comes without a deletion time.
func TestNudgedForgetsWhatIsGone(t *testing.T) {
	var n nudged
	app, now := fixture.Application("web").Obj(), time.Unix(1_700_000_000, 0)
	n.next(dependency.ObjectsKey(work.Key(app)), "a", now)
	if !n.watched().Delete(event.DeleteEvent{Object: app}) {
		t.Error("others do not hear of it")
	}
	if len(n.last) != 0 {
		t.Errorf("%d Applications that are gone are remembered", len(n.last))
	}
}

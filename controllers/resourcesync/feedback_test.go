package resourcesync

import (
	"context"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// reported has one work, with that status.
type reported struct {
	client.Client
	status workv1.ManifestWorkStatus
}

func (r *reported) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*workv1.ManifestWork).Status = r.status
	return nil
}

// TestHydrating: the feedback tells of a hydration that is under way, during which nobody knows whether it fails again.
func TestHydrating(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	for phase, want := range map[string]bool{"Hydrating": true, "Hydrated": false, "Failed": false} {
		status := fixture.Feedback(work.Identifier(app)).String("hydrationPhase", phase).Obj()
		f, err := (&Feedback{Client: &reported{status: status}}).Facts(t.Context(), app)
		if err != nil || f.Hydrating != want {
			t.Errorf("%s: got %+v, %v", phase, f, err)
		}
	}
}

package resourcesync

import (
	"context"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// reported is a hub with a single work with the given status.
type reported struct {
	client.Client
	status workv1.ManifestWorkStatus
}

func (r *reported) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*workv1.ManifestWork).Status = r.status
	return nil
}

// TestComparisons: the time of the cluster's last comparison in a report.
func TestComparisons(t *testing.T) {
	const end, later = "2026-01-02T03:04:07Z", "2026-01-02T03:04:09Z"
	app := fixture.Application("guestbook").Obj()
	ended := func() *fixture.FeedbackBuilder {
		return fixture.Feedback(work.Identifier(app)).String("operationStatePhase", "Succeeded").
			String("operationStateStartedAt", "2026-01-02T03:04:05Z").String("operationStateFinishedAt", end)
	}
	for title, tc := range map[string]struct {
		says       *fixture.FeedbackBuilder
		at         string
		compared   bool
		uncompared string
	}{
		"when it was, beside a condition": {ended().String("reconciledAt", later).Compared(end), later, true, ""},
		"that there was none":             {ended(), "", true, ""},
		"that it has been":                {ended().String("resourceVersion", "").Compared(end), end, false, ""},
		"that it has not been":            {ended().String("resourceVersion", "").Compared(""), "", false, end},
		"nothing":                         {ended().String("resourceVersion", ""), "", false, ""},
	} {
		t.Run(title, func(t *testing.T) {
			f, err := (&Feedback{Client: &reported{status: tc.says.Obj()}}).Facts(t.Context(), app)
			if err != nil || f.Status.ReconciledAt != tc.at || f.Compared != tc.compared || f.Uncompared != tc.uncompared {
				t.Errorf("got %q, %t, %q, %v", f.Status.ReconciledAt, f.Compared, f.Uncompared, err)
			}
		})
	}
}

// TestHydrating: the feedback reports a running hydration. During a hydration, the outcome is unknown.
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

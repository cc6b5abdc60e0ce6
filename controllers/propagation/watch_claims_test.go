package propagation

import (
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestWatchClaims: the first new work of a place may ask for the watch, until the claim ends.
func TestWatchClaims(t *testing.T) {
	first, second := rendered(t, fixture.Application("first").Obj()), rendered(t, fixture.Application("second").Obj())
	elsewhere := rendered(t, fixture.Application("elsewhere").Annotation(apis.AnnotationAppNamespace, "team").Obj())
	polled := rendered(t, fixture.Application("polled").Obj())
	polled.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType
	began := time.Now()
	for title, tc := range map[string]struct {
		since  func(*watchClaims)
		of     *workv1.ManifestWork
		after  time.Duration
		permit bool
	}{
		"another work":                     {of: second},
		"the same work":                    {of: first, permit: true},
		"a work of another place":          {of: elsewhere, permit: true},
		"a work without the watch":         {of: polled, permit: true},
		"just before the end of the time":  {of: second, after: watchClaimTime - time.Millisecond},
		"at the end of the time":           {of: second, after: watchClaimTime, permit: true},
		"the first work was not created":   {of: second, since: func(m *watchClaims) { m.drop(first) }, permit: true},
		"the second work was not created":  {of: second, since: func(m *watchClaims) { m.drop(second) }},
		"the watch has ended":              {of: second, since: func(m *watchClaims) { m.forget(work.Watches(first)) }, permit: true},
		"the watch of elsewhere has ended": {of: second, since: func(m *watchClaims) { m.forget(work.Watches(elsewhere)) }},
	} {
		t.Run(title, func(t *testing.T) {
			m := &watchClaims{}
			if !m.take(first, began) {
				t.Fatal("the first work gets no claim")
			}
			if tc.since != nil {
				tc.since(m)
			}
			if got := m.take(tc.of, began.Add(tc.after)); got != tc.permit {
				t.Errorf("permitted %t, want %t", got, tc.permit)
			}
		})
	}
}

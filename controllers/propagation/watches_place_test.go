package propagation

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestUnwatched: the Applications of a place are queued when no work lets the work agent watch the place any more, and
// not before.
func TestUnwatched(t *testing.T) {
	leaving := fixture.Application("leaving").Obj()
	leaving.DeletionTimestamp = &metav1.Time{}
	apps := []argocd.Application{
		*fixture.Application("stays").Obj(),
		*leaving,
		*fixture.Application("in-another-namespace").Annotation(apis.AnnotationAppNamespace, "team").Obj(),
	}
	watching := rendered(t, fixture.Application("watching").Obj())
	poll := func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType }
	for title, tc := range map[string]struct {
		after func(*workv1.ManifestWork)
		works []workv1.ManifestWork
		want  []string
	}{
		"a new report":  {after: func(w *workv1.ManifestWork) { w.Status = reportFrom("argocd").Healthy("b").Obj() }},
		"the deletion":  {after: func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{} }, want: []string{"stays"}},
		"a poll":        {after: poll, want: []string{"stays"}},
		"another watch": {after: func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{} }, works: []workv1.ManifestWork{*watching}},
	} {
		t.Run(title, func(t *testing.T) {
			before, after := watching.DeepCopy(), watching.DeepCopy()
			tc.after(after)
			var got []string
			if watchEnds().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
				for _, w := range []client.Object{before, after} {
					for _, req := range unwatched(indexed{apps: apps, works: tc.works}, &watchClaims{})(t.Context(), w) {
						got = append(got, req.Name)
					}
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v are queued, want %v", got, tc.want)
			}
		})
	}
	if watchEnds().Create(event.CreateEvent{Object: watching}) {
		t.Error("a new work ends no watch")
	}
}

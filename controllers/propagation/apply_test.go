package propagation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// clusterOf identifies a write by its cluster; "hub" for a write of the hub Application.
func clusterOf(obj client.Object) string {
	if _, is := obj.(*argocd.Application); is {
		return "hub"
	}
	return obj.GetNamespace()
}

// TestApply: a failed write does not stop the remaining works. With TellFirst, a failed patch of the Application does
// not stop the works either.
func TestApply(t *testing.T) {
	resource := schema.GroupResource{Resource: "manifestworks"}
	conflict := apierrors.NewConflict(resource, "x", nil)
	missing := apierrors.NewNotFound(resource, "x")
	forbidden := apierrors.NewForbidden(resource, "x", nil)
	for title, tc := range map[string]struct {
		answers map[string]error
		want    loop.Outcome
		fails   bool
		refused bool
		unmade  bool
		told    bool
		first   bool
	}{
		"every write succeeds":       {told: true},
		"told first":                 {first: true, told: true},
		"told first, a failure":      {first: true, answers: map[string]error{"changed": errors.New("no")}, fails: true, told: true},
		"told first, a conflict":     {first: true, answers: map[string]error{"hub": conflict}, want: loop.Conflict, told: true},
		"told first, in vain":        {first: true, answers: map[string]error{"hub": errors.New("no")}, fails: true, told: true},
		"a failure":                  {answers: map[string]error{"changed": errors.New("no")}, fails: true},
		"a conflict":                 {answers: map[string]error{"going": conflict}, want: loop.Conflict},
		"the work to delete is gone": {answers: map[string]error{"going": missing}, told: true},
		"the work to change is gone": {answers: map[string]error{"changed": missing}, want: loop.Conflict},
		"the work to create exists":  {answers: map[string]error{"new": apierrors.NewAlreadyExists(resource, "x")}, want: loop.FactsChanged, unmade: true},
		"the hub refuses":            {answers: map[string]error{"new": forbidden}, want: loop.FactsChanged, refused: true, unmade: true},
		"the Application changed":    {answers: map[string]error{"hub": conflict}, want: loop.Conflict, told: true},
		"the Application is gone":    {answers: map[string]error{"hub": missing}, told: true},
	} {
		t.Run(title, func(t *testing.T) {
			hub := &fixture.Hub{Name: clusterOf, Answers: tc.answers}
			r := &Reconciler{Client: hub, Events: events.NewFakeRecorder(10)}
			seen := &observation{live: noWorks{}, reader: noWorks{}, cache: noWorks{}}
			seen.App, seen.Presence = fixture.Application("guestbook").Obj(), delivery.Present
			seen.Key = client.ObjectKeyFromObject(seen.App)
			got, err := r.apply(t.Context(), seen, &delivery.Plan{
				Steps: []delivery.Step{
					{Write: work.Creation(workOn("new")), Rejects: true},
					{Write: work.Change(workOn("changed"), workOn("changed"))},
					{Write: work.Deletion(workOn("going"))},
				},
				Hub:       &argocd.Patch{Annotations: map[string]*string{apis.AnnotationRefresh: nil}},
				TellFirst: tc.first,
			})
			if (err != nil) != tc.fails || got != tc.want || (seen.Refusal != nil) != tc.refused || (len(r.uncached.of(seen.Key)) == 0) != tc.unmade {
				t.Errorf("got %d, %v; refused: %v", got, err, seen.Refusal)
			}
			want := "new changed going"
			if tc.first {
				want = "hub " + want
			}
			if !strings.HasPrefix(strings.Join(hub.Written, " "), want) || slices.Contains(hub.Written, "hub") != tc.told {
				t.Errorf("written for %v", hub.Written)
			}
		})
	}
}

// TestApplyShowsLastingFailures: a write with a failure of some seconds is shown like a refusal. The first pass
// without a failure resets the time.
func TestApplyShowsLastingFailures(t *testing.T) {
	busy := map[string]error{"new": errors.New("the store is full")}
	other := map[string]error{"changed": errors.New("no")}
	start := time.Unix(1e9, 0)
	type pass struct {
		after         time.Duration
		answers       map[string]error
		knows         bool // the refusal from an earlier pass
		refused, fail bool
	}
	for title, passes := range map[string][]pass{
		"the failure lasts": {
			{answers: busy, fail: true}, {after: lasts - 1, answers: busy, fail: true}, {after: lasts, answers: busy, refused: true},
			{after: lasts + 1, answers: busy, refused: true},
		},
		"the failure ends, and begins again": {
			{answers: busy, fail: true}, {after: 1}, {after: lasts, answers: busy, fail: true}, {after: 2*lasts - 1, answers: busy, fail: true},
			{after: 2 * lasts, answers: busy, refused: true},
		},
		"the refusal is not shown yet": {
			{answers: busy, fail: true}, {after: 1, knows: true, refused: true}, {after: lasts, answers: busy, refused: true},
		},
		"a second write fails in the meantime": {
			{answers: busy, fail: true}, {after: 1, answers: other, fail: true}, {after: lasts, answers: busy, refused: true},
		},
	} {
		t.Run(title, func(t *testing.T) {
			r := &Reconciler{Events: events.NewFakeRecorder(10)}
			for _, p := range passes {
				r.Client = &fixture.Hub{Name: clusterOf, Answers: p.answers}
				seen := &observation{live: noWorks{}, reader: noWorks{}, cache: noWorks{}}
				seen.App, seen.Presence, seen.Now = fixture.Application("guestbook").Obj(), delivery.Present, start.Add(p.after)
				seen.Key = client.ObjectKeyFromObject(seen.App)
				if p.knows {
					seen.Refusal = &delivery.Rejection{Message: "the store is full"}
				}
				_, err := r.apply(t.Context(), seen, &delivery.Plan{Steps: []delivery.Step{
					{Write: work.Creation(workOn("new")), Rejects: true}, {Write: work.Change(workOn("changed"), workOn("changed"))},
				}})
				if (err != nil) != p.fail || (seen.Refusal != nil) != p.refused {
					t.Errorf("after %s: %v, refused: %v", p.after, err, seen.Refusal)
				}
			}
		})
	}
}

// noWorks is an API server without works.
type noWorks struct{ client.Reader }

func (noWorks) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "manifestworks"}, key.Name)
}

func workOn(cluster string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name, w.UID, w.ResourceVersion = cluster, "guestbook", types.UID(cluster), "1"
	return w
}

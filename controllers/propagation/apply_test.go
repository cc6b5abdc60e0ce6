package propagation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
)

// hubThat answers writes by the cluster that they are for, and remembers them.
type hubThat struct {
	client.Client
	answers map[string]error
	written []string
}

func (h *hubThat) answer(obj client.Object) error {
	name := obj.GetNamespace()
	if _, is := obj.(*argocd.Application); is {
		name = "hub"
	}
	h.written = append(h.written, name)
	return h.answers[name]
}

func (h *hubThat) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return h.answer(obj)
}

func (h *hubThat) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return h.answer(obj)
}

func (h *hubThat) Delete(_ context.Context, obj client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	if p := o.Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil {
		return errors.New("it would delete whatever has that name")
	}
	return h.answer(obj)
}

// TestApply: a write that fails keeps no other work from being written, and the Application from being told.
func TestApply(t *testing.T) {
	resource := schema.GroupResource{Resource: "manifestworks"}
	conflict := apierrors.NewConflict(resource, "x", nil)
	missing := apierrors.NewNotFound(resource, "x")
	forbidden := apierrors.NewForbidden(resource, "x", nil)
	for title, tc := range map[string]struct {
		answers map[string]error
		want    met
		fails   bool
		told    bool
	}{
		"all is well":             {told: true, want: met{created: workOn("new")}},
		"a failure":               {answers: map[string]error{"changed": errors.New("no")}, want: met{created: workOn("new")}, fails: true},
		"a conflict":              {answers: map[string]error{"going": conflict}, want: met{created: workOn("new"), conflict: true}},
		"one that is gone":        {answers: map[string]error{"going": missing}, want: met{created: workOn("new")}, told: true},
		"one to write is gone":    {answers: map[string]error{"changed": missing}, want: met{created: workOn("new"), conflict: true}},
		"one is there already":    {answers: map[string]error{"new": apierrors.NewAlreadyExists(resource, "x")}, want: met{exists: true}},
		"the hub refuses":         {answers: map[string]error{"new": forbidden}, want: met{refusal: &delivery.Rejection{}}},
		"the Application changed": {answers: map[string]error{"hub": conflict}, want: met{created: workOn("new"), conflict: true}, told: true},
		"the Application is gone": {answers: map[string]error{"hub": missing}, want: met{created: workOn("new")}, told: true},
	} {
		t.Run(title, func(t *testing.T) {
			hub := &hubThat{answers: tc.answers}
			r := &Reconciler{Client: hub, Events: events.NewFakeRecorder(10)}
			seen := &observation{}
			seen.App, seen.Presence = fixture.Application("guestbook").Obj(), delivery.Present
			got, err := r.apply(t.Context(), seen, delivery.Plan{
				Steps: []delivery.Step{
					{Verb: delivery.Create, Work: workOn("new"), Rejects: true},
					{Verb: delivery.Update, Was: workOn("changed"), Work: workOn("changed")},
					{Verb: delivery.Delete, Was: workOn("going")},
				},
				Hub: &argocd.Patch{Annotations: map[string]*string{apis.AnnotationRefresh: nil}},
			})
			if (err != nil) != tc.fails || got.conflict != tc.want.conflict || got.exists != tc.want.exists ||
				(got.created == nil) != (tc.want.created == nil) || (got.refusal == nil) != (tc.want.refusal == nil) {
				t.Errorf("got %+v, %v", got, err)
			}
			if want := "new changed going"; !strings.HasPrefix(strings.Join(hub.written, " "), want) || slices.Contains(hub.written, "hub") != tc.told {
				t.Errorf("written for %v", hub.written)
			}
		})
	}
}

func workOn(cluster string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name, w.UID, w.ResourceVersion = cluster, "guestbook", types.UID(cluster), "1"
	return w
}

package dependencies

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// hubThat answers writes, by what they are of, and remembers them.
type hubThat struct {
	client.Client
	answers map[string]error
	written []string
}

func (h *hubThat) answer(obj client.Object) error {
	of := "work"
	if _, is := obj.(*argocd.Application); is {
		of = "application"
	}
	h.written = append(h.written, of)
	return h.answers[of]
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

func objectsWork() *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	key := dependency.ObjectsKey(work.Key(fixture.Application("web").Obj()))
	w.Namespace, w.Name, w.UID, w.ResourceVersion = key.Namespace, key.Name, "uid", "1"
	return w
}

// TestApply: a write that fails does not keep the Application from being told of all its dependencies; events come after it was.
func TestApply(t *testing.T) {
	resource := schema.GroupResource{Resource: "manifestworks"}
	conflict, missing := apierrors.NewConflict(resource, "x", nil), apierrors.NewNotFound(resource, "x")
	exists := apierrors.NewAlreadyExists(resource, "x")
	w := objectsWork()
	steps := map[dependency.Verb]*dependency.Step{
		dependency.Create: {Verb: dependency.Create, Work: w},
		dependency.Update: {Verb: dependency.Update, Was: w, Work: w},
		dependency.Delete: {Verb: dependency.Delete, Was: w},
	}
	for title, tc := range map[string]struct {
		verb              dependency.Verb
		work, application error
		want              met
		fails, silent     bool
		untold            bool
	}{
		"created":                        {verb: dependency.Create},
		"changed":                        {verb: dependency.Update},
		"deleted":                        {verb: dependency.Delete},
		"no work is written":             {},
		"there already":                  {verb: dependency.Create, work: exists, want: met{exists: true}, silent: true, untold: true},
		"no such cluster":                {verb: dependency.Create, work: missing},
		"changed meanwhile":              {verb: dependency.Update, work: conflict, want: met{conflict: true}},
		"gone meanwhile":                 {verb: dependency.Update, work: missing},
		"deleted meanwhile":              {verb: dependency.Delete, work: missing},
		"a failure":                      {verb: dependency.Update, work: errors.New("no"), fails: true},
		"the Application changed":        {verb: dependency.Update, application: conflict, want: met{conflict: true}, silent: true},
		"the Application is gone":        {verb: dependency.Update, application: missing, silent: true},
		"the Application is not written": {verb: dependency.Update, application: errors.New("no"), fails: true, silent: true},
	} {
		t.Run(title, func(t *testing.T) {
			hub, recorder := &hubThat{answers: map[string]error{"work": tc.work, "application": tc.application}}, events.NewFakeRecorder(10)
			r := &Reconciler{Client: hub, Events: recorder}
			seen := &observation{}
			seen.Key, seen.Users = client.ObjectKeyFromObject(w), []dependency.User{{App: fixture.Application("web").Obj()}}
			got, err := r.apply(t.Context(), seen, dependency.Plan{
				Step: steps[tc.verb], Hub: &argocd.Patch{Conditions: []argocd.Condition{}},
				Events: []dependency.Event{{Reason: "DependencyMissing"}, {Reason: "DependencyMissing", On: &argocd.AppProject{}}},
			})
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %+v, %v", got, err)
			}
			if slices.Contains(hub.written, "application") == tc.untold || len(recorder.Events) != map[bool]int{false: 2}[tc.silent] {
				t.Errorf("written: %v; %d events", hub.written, len(recorder.Events))
			}
		})
	}
}

// TestRefreshThatMeetsAConflict is requested again: others write to the Application as well.
func TestRefreshThatMeetsAConflict(t *testing.T) {
	hub := &hubThat{answers: map[string]error{"application": apierrors.NewConflict(schema.GroupResource{}, "x", nil)}}
	r := &Reconciler{Client: hub}
	now := time.Unix(1_700_000_000, 0)
	arrived := &workv1.ManifestWork{}
	arrived.Namespace, arrived.Name, arrived.UID = "cluster1", dependency.ProjectKey("cluster1", "default").Name, "uid"
	arrived.Status = fixture.Feedback(workv1.ResourceIdentifier{}).Condition(workv1.WorkApplied, "True", "").Obj()
	app := fixture.Application("web").Condition(dependency.InvalidSpec, "no project").Obj()
	look := func(at time.Duration) met {
		seen := &observation{}
		seen.Now, seen.Key, seen.Cluster.Exists = now.Add(at), dependency.ObjectsKey(work.Key(app)), true
		seen.Users = []dependency.User{{App: app, Permitted: true, Own: &workv1.ManifestWork{}}}
		seen.Dependencies, seen.Refresh = []*workv1.ManifestWork{arrived}, r.refreshes.last(seen.Key)
		got, err := r.apply(t.Context(), seen, dependency.Decide(seen.Facts, dependency.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	look(0)
	if got := look(time.Minute); !got.conflict {
		t.Fatalf("the case that this is about is another one: %+v", got)
	}
	hub.answers = nil
	look(time.Minute)
	look(time.Hour)
	if len(hub.written) != 2 {
		t.Errorf("the refresh was requested %d times, one of them in vain", len(hub.written))
	}
}

// TestMemoryIsReleased: also of an Application that no finalizer holds, whose end comes without a deletion time.
func TestMemoryIsReleased(t *testing.T) {
	var n refreshes
	app := fixture.Application("web").Obj()
	n.remember(dependency.ObjectsKey(work.Key(app)), dependency.Refresh{With: "a"})
	if !n.watched().Delete(event.DeleteEvent{Object: app}) {
		t.Error("others do not hear of it")
	}
	if len(n.all) != 0 {
		t.Errorf("%d Applications that are gone are remembered", len(n.all))
	}
	var m missing
	key, since := types.NamespacedName{Name: "x"}, time.Unix(1, 0)
	m.note(key, since)
	if again := m.note(key, since.Add(time.Hour)); !again.Equal(since) {
		t.Errorf("missing since %s", again)
	}
	m.forget(key)
	if len(m.since) != 0 {
		t.Error("a Secret that is there is remembered as missing")
	}
}

package dependencies

import (
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

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// kind identifies a write by the kind of the object.
func kind(obj client.Object) string {
	if _, is := obj.(*argocd.Application); is {
		return "application"
	}
	return "work"
}

func objectsWork() *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	key := dependency.ObjectsKey(work.Key(fixture.Application("web").Obj()))
	w.Namespace, w.Name, w.UID, w.ResourceVersion = key.Namespace, key.Name, "uid", "1"
	return w
}

// TestApply: after a failed write of the work, the Application still gets the report about all dependencies. Events are
// recorded after the patch of the Application.
func TestApply(t *testing.T) {
	resource := schema.GroupResource{Resource: "manifestworks"}
	conflict, missing := apierrors.NewConflict(resource, "x", nil), apierrors.NewNotFound(resource, "x")
	exists := apierrors.NewAlreadyExists(resource, "x")
	w := objectsWork()
	steps := map[work.Verb]*dependency.Step{
		work.VerbCreate: {Write: work.Creation(w)},
		work.VerbUpdate: {Write: work.Change(w, w)},
		work.VerbDelete: {Write: work.Deletion(w)},
	}
	for title, tc := range map[string]struct {
		verb              work.Verb
		work, application error
		want              loop.Outcome
		fails, silent     bool
		untold            bool
	}{
		"created":                        {verb: work.VerbCreate},
		"changed":                        {verb: work.VerbUpdate},
		"deleted":                        {verb: work.VerbDelete},
		"no work is written":             {},
		"there already":                  {verb: work.VerbCreate, work: exists, want: loop.FactsChanged, silent: true, untold: true},
		"no such cluster":                {verb: work.VerbCreate, work: missing},
		"changed meanwhile":              {verb: work.VerbUpdate, work: conflict, want: loop.Conflict},
		"gone meanwhile":                 {verb: work.VerbUpdate, work: missing},
		"deleted meanwhile":              {verb: work.VerbDelete, work: missing},
		"a failure":                      {verb: work.VerbUpdate, work: errors.New("no"), fails: true},
		"the Application changed":        {verb: work.VerbUpdate, application: conflict, want: loop.Conflict, silent: true},
		"the Application is gone":        {verb: work.VerbUpdate, application: missing, silent: true},
		"the Application is not written": {verb: work.VerbUpdate, application: errors.New("no"), fails: true, silent: true},
	} {
		t.Run(title, func(t *testing.T) {
			hub, recorder := &fixture.Hub{Name: kind, Answers: map[string]error{"work": tc.work, "application": tc.application}}, events.NewFakeRecorder(10)
			r := &Reconciler{Client: hub, Live: &apiServer{}, Events: recorder}
			seen := &observation{}
			seen.Key, seen.Users = client.ObjectKeyFromObject(w), []dependency.User{{App: fixture.Application("web").Obj()}}
			got, err := r.apply(t.Context(), seen, &dependency.Plan{
				Step: steps[tc.verb], Hub: &argocd.Patch{Conditions: []argocd.Condition{}},
				Events: []dependency.Event{{Reason: "DependencyMissing"}, {Reason: "DependencyMissing", On: &argocd.AppProject{}}},
			})
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %d, %v", got, err)
			}
			if slices.Contains(hub.Written, "application") == tc.untold || len(recorder.Events) != map[bool]int{false: 2}[tc.silent] {
				t.Errorf("written: %v; %d events", hub.Written, len(recorder.Events))
			}
		})
	}
}

// TestRefreshWithAConflict: a refresh is requested again after a conflict with a different writer of the
// Application.
func TestRefreshWithAConflict(t *testing.T) {
	hub := &fixture.Hub{Name: kind, Answers: map[string]error{"application": apierrors.NewConflict(schema.GroupResource{}, "x", nil)}}
	r := &Reconciler{Client: hub}
	now := time.Unix(1_700_000_000, 0)
	arrived := &workv1.ManifestWork{}
	arrived.Namespace, arrived.Name, arrived.UID = "cluster1", dependency.ProjectKey("cluster1", "default").Name, "uid"
	arrived.Status = fixture.Feedback(workv1.ResourceIdentifier{}).Condition(workv1.WorkApplied, "True", "").Obj()
	app := fixture.Application("web").Condition(dependency.InvalidSpec, "no project").Obj()
	look := func(at time.Duration) loop.Outcome {
		seen := &observation{}
		seen.Now, seen.Key, seen.Cluster.Exists = now.Add(at), dependency.ObjectsKey(work.Key(app)), true
		seen.Users = []dependency.User{{App: app, Permitted: true, Own: &workv1.ManifestWork{}}}
		seen.Dependencies, seen.Refresh = []*workv1.ManifestWork{arrived}, r.refreshes.last(seen.Key)
		plan := dependency.Decide(seen.Facts, dependency.Options{})
		got, err := r.apply(t.Context(), seen, &plan)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	look(0)
	if got := look(time.Minute); got != loop.Conflict {
		t.Fatalf("the case that this is about is another one: %d", got)
	}
	hub.Answers = nil
	look(time.Minute)
	look(time.Hour)
	if len(hub.Written) != 2 {
		t.Errorf("the refresh was requested %d times, one of them in vain", len(hub.Written))
	}
}

// TestLeadsAreDue: a work gets one decision in ten seconds, and old decisions leave the memory.
func TestLeadsAreDue(t *testing.T) {
	var led turns
	began := time.Now()
	for _, tc := range []struct {
		name  string
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"a", time.Second, false}, {"b", 2 * time.Second, true}, {"a", leadInterval, true}, {"b", leadInterval, false},
		{"c", 3 * leadInterval, true},
	} {
		key, now := types.NamespacedName{Name: tc.name}, began.Add(tc.after)
		got := led.left(key, now) == 0
		if got != tc.want {
			t.Errorf("%s after %v: %t", tc.name, tc.after, got)
		}
		if got {
			led.took(key, now, leadInterval)
		}
	}
	if len(led.until) != 1 {
		t.Errorf("the memory has %v", led.until)
	}
}

// TestMemoryIsReleased: the memory forgets an Application without finalizers too, which disappears without a deletion
// timestamp.
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

package mirror_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

const source = "towline"

var key = types.NamespacedName{Namespace: "cluster1", Name: "guestbook"}

// ids are the ids of bundles, with the same key in each test.
var ids = bundle.NewIDs(source, []byte("a key that is the same in all tests"))

// first is the id of the work's first bundle, and second is the id of the next bundle.
var first, second = ids.Of(key, 0), ids.Of(key, 1)

// manifests returns ConfigMaps with the names in names, and with the same word in each ConfigMap.
func manifests(word string, names ...string) workv1.ManifestsTemplate {
	var out workv1.ManifestsTemplate
	for _, name := range names {
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","data":{"word":"` + word + `"},"kind":"ConfigMap","metadata":{"name":"` + name + `"}}`),
		}})
	}
	return out
}

func aWork(uid types.UID, workload workv1.ManifestsTemplate) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid}, Spec: workv1.ManifestWorkSpec{Workload: workload},
	}
}

// world is a mirror with a connection to a fake Maestro.
type world struct {
	*testing.T

	maestro *maestrotest.Maestro
	mirror  *mirror.Mirror
	stop    func()
}

func follow(t *testing.T, m *maestrotest.Maestro, options ...func(*mirror.Mirror)) *world {
	t.Helper()
	w := &world{T: t, maestro: m, mirror: mirror.New(m, source, testr.New(t))}
	w.mirror.IDs = ids
	for _, option := range options {
		option(w.mirror)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.mirror.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(w.stop)
	w.eventually("the mirror is filled", w.mirror.Filled)
	return w
}

// eventually waits until holds returns true. eventually polls, because the call is cheap and the mirror has no event
// for the test.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			w.Fatalf("not so: %s; the work is %+v", what, w.mirror.Known(key))
		case <-tick.C:
		}
	}
}

func (w *world) create(uid types.UID, workload workv1.ManifestsTemplate) *workv1.ManifestWork {
	w.Helper()
	made, err := w.mirror.Create(w.Context(), aWork(uid, workload))
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// update replaces the workload of the known work.
func (w *world) update(workload workv1.ManifestsTemplate) (*workv1.ManifestWork, error) {
	was := w.mirror.Known(key)
	next := was.DeepCopy()
	next.Spec.Workload = workload
	return w.mirror.Update(w.Context(), was, next)
}

func (w *world) mustUpdate(workload workv1.ManifestsTemplate) *workv1.ManifestWork {
	w.Helper()
	now, err := w.update(workload)
	if err != nil {
		w.Fatal(err)
	}
	return now
}

// message returns the agent's last message, as known to the mirror.
func (w *world) message() string {
	known := w.mirror.Known(key)
	if known == nil || len(known.Status.Conditions) == 0 {
		return ""
	}
	return known.Status.Conditions[0].Message
}

// isApplied returns whether the agent has applied the present generation of the work, as known to the mirror.
func (w *world) isApplied() bool {
	known := w.mirror.Known(key)
	c := meta.FindStatusCondition(known.Status.Conditions, workv1.WorkApplied)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == known.Generation
}

// delivered returns a world with a work applied by the agent.
func delivered(t *testing.T) *world {
	t.Helper()
	w := follow(t, maestrotest.New())
	w.create("a", manifests("x", "one"))
	w.maestro.Report(first, "applied")
	w.eventually("it is applied", w.isApplied)
	return w
}

// changes returns the types of the changes since a version, in the order of the changes.
func (w *world) changes(since uint64) string {
	w.Helper()
	changes, _, ok := w.mirror.After(since)
	if !ok {
		w.Fatal("the version is not known")
	}
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Type))
	}
	return strings.Join(out, " ")
}

func TestTheLifeOfAWork(t *testing.T) {
	w := follow(t, maestrotest.New())
	_, began := w.mirror.All("", types.NamespacedName{})
	made := w.create("a", manifests("x", "one"))
	if made.Generation != 1 || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		t.Errorf("%+v", made.ObjectMeta)
	}
	if _, err := w.mirror.Create(t.Context(), aWork("b", manifests("x", "one"))); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the name is taken: %v", err)
	}
	w.maestro.Report(first, "applied")
	w.eventually("the status is known", func() bool { return w.message() == "applied" })
	now := w.mustUpdate(manifests("y", "one"))
	if now.Generation != 2 || now.UID != "a" || w.maestro.Version(first) != bundle.FirstVersion(made.CreationTimestamp.Time)+1 {
		t.Errorf("generation %d, UID %s, version %d", now.Generation, now.UID, w.maestro.Version(first))
	}
	if _, err := w.mirror.Update(t.Context(), made, made.DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("an update of an earlier version: %v", err)
	}
	if _, err := w.mirror.Delete(t.Context(), made); !apierrors.IsConflict(err) {
		t.Errorf("a deletion of an earlier version: %v", err)
	}
	deleted, err := w.mirror.Delete(t.Context(), now)
	if err != nil || deleted == nil || deleted.DeletionTimestamp.IsZero() {
		t.Fatalf("it stays until the agent has answered: %+v, %v", deleted, err)
	}
	w.maestro.Removed(first)
	w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
	if got, want := w.changes(began), "ADDED MODIFIED MODIFIED MODIFIED DELETED"; got != want {
		t.Errorf("watches see %s, want %s", got, want)
	}
	if again := w.create("b", manifests("x", "one")); again.Generation != 1 {
		t.Errorf("generation %d", again.Generation)
	}
}

// TestOnlyASpecIsAGeneration checks that only a change of the spec begins a generation. Agents apply a work again only
// after a change of the spec. If a change of a label began a generation, the owner of the work would wait for minutes
// until the agent reports the generation.
func TestOnlyASpecIsAGeneration(t *testing.T) {
	change := func(w *workv1.ManifestWork, word string) {
		w.Labels, w.Annotations = map[string]string{"a": word}, map[string]string{"b": word}
		w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: word, UID: "77"}}
	}
	w := delivered(t)
	m := w.maestro
	version := m.Version(first)
	was := w.mirror.Known(key)
	next := was.DeepCopy()
	change(next, "c")
	now, err := w.mirror.Update(t.Context(), was, next)
	if err != nil || now.Generation != 1 || now.Annotations["b"] != "c" || now.ResourceVersion == was.ResourceVersion || !w.isApplied() {
		t.Errorf("%+v, %v", now, err)
	}
	m.Report(first, "heard again")
	w.eventually("the agent is heard", func() bool { return w.message() == "heard again" })
	if !w.isApplied() || m.Version(first) != version+1 {
		t.Errorf("version %d after %d: %+v", m.Version(first), version, w.mirror.Known(key))
	}

	owner := w.mirror.Known(key).DeepCopy()
	owner.OwnerReferences[0].Name = "d"
	if now, err := w.mirror.Update(t.Context(), w.mirror.Known(key), owner); err != nil || now.OwnerReferences[0].Name != "d" {
		t.Errorf("another owner alone: %+v, %v", now, err)
	}

	w.stop()
	w = follow(t, m)
	if known := w.mirror.Known(key); known.Generation != 1 || !w.isApplied() {
		t.Errorf("after a restart: %+v", known)
	}
	if now := w.mustUpdate(manifests("y", "one")); now.Generation != 2 || w.isApplied() {
		t.Errorf("another spec: %+v", now)
	}
	m.Report(first, "applied again")
	w.eventually("it is applied", w.isApplied)
	if now := w.mustUpdate(manifests("y", "two")); now.Generation != 3 || w.isApplied() {
		t.Errorf("another shape: %+v", now)
	}
	m.Report(second, "both applied")
	w.eventually("it is applied", w.isApplied)
}

// TestChangedAndChangedBack checks two writes, of which the second write restores the first spec. Maestro sends the
// agent only the second write. The agent has the spec already, but still reports the version of the applied write.
func TestChangedAndChangedBack(t *testing.T) {
	w := delivered(t)
	m := w.maestro
	w.mustUpdate(manifests("y", "one"))
	if now := w.mustUpdate(manifests("x", "one")); now.Generation != 3 || w.isApplied() || len(now.Labels) > 0 {
		t.Errorf("%+v", now)
	}
	m.Report(first, "applied again")
	w.eventually("it is applied", w.isApplied)
}

// TestEvents checks that the mirror reaches the state of Maestro although messages are lost, repeated or out of order.
func TestEvents(t *testing.T) {
	for name, tell := range map[string]func(w *world){
		"lost, and another comes": func(w *world) {
			w.maestro.Silence(true)
			w.maestro.Report(first, "lost")
			w.maestro.Silence(false)
			w.maestro.Report(first, "last")
		},
		"lost, and the connection ends": func(w *world) {
			w.maestro.Silence(true)
			w.maestro.Report(first, "last")
			w.maestro.Cut()
			w.maestro.Silence(false)
		},
		"repeated": func(w *world) {
			event := w.maestro.Report(first, "last")
			w.maestro.Tell(event)
			w.maestro.Tell(event)
		},
		"out of order": func(w *world) {
			w.maestro.Silence(true)
			early := w.maestro.Report(first, "early")
			w.maestro.Silence(false)
			w.maestro.Report(first, "last")
			w.maestro.Tell(early)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := follow(t, maestrotest.New())
			w.create("a", manifests("x", "one"))
			tell(w)
			w.eventually("the last word is known", func() bool { return w.message() == "last" })
			if _, err := w.mirror.Get(t.Context(), key); err != nil || w.message() != "last" {
				t.Errorf("%q, %v", w.message(), err)
			}
		})
	}
}

// TestARepeatedRemovalSparesTheNextWork checks that a message about a removed work does not affect the next work of
// the same name.
func TestARepeatedRemovalSparesTheNextWork(t *testing.T) {
	w := follow(t, maestrotest.New())
	made := w.create("a", manifests("x", "one"))
	if _, err := w.mirror.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	removal := w.maestro.Removed(first)
	w.eventually("it is gone", func() bool { return w.mirror.Known(key) == nil })
	w.create("b", manifests("x", "one"))
	_, since := w.mirror.All("", types.NamespacedName{})
	w.maestro.Tell(removal)
	w.maestro.Report(first, "the successor is heard after that")
	w.eventually("a later word is known", func() bool { return w.message() != "" })
	if got := w.changes(since); got != "MODIFIED" {
		t.Errorf("watches see %s", got)
	}
}

// TestASilentRemoval checks that the mirror notices the silent removal of a bundle not seen by an agent.
func TestASilentRemoval(t *testing.T) {
	w := follow(t, maestrotest.New())
	made := w.create("a", manifests("x", "one"))
	w.maestro.Hook(maestrotest.Hooks{AfterPublish: func(action cetypes.EventAction) error {
		if action == cetypes.DeleteRequestAction {
			w.maestro.Drop(first)
		}
		return nil
	}})
	gone, err := w.mirror.Delete(t.Context(), made)
	if err != nil || gone != nil || w.mirror.Known(key) != nil {
		t.Errorf("%+v, %v", gone, err)
	}
}

// TestAListProvesNoDeletion checks that a work missing from a list is read before the work counts as gone.
func TestAListProvesNoDeletion(t *testing.T) {
	w := follow(t, maestrotest.New())
	w.create("a", manifests("x", "one"))
	_, since := w.mirror.All("", types.NamespacedName{})
	var lists, reads atomic.Int32
	backup := w.maestro.Backup()
	w.maestro.Hook(maestrotest.Hooks{
		BeforeList: func(time.Time) error {
			w.maestro.Drop(first)
			lists.Add(1)
			return nil
		},
		BeforeGet: func(string) error {
			w.maestro.Restore(backup) // Maestro has had the work all the time
			reads.Add(1)
			return nil
		},
	})
	w.maestro.Cut()
	w.eventually("it was listed, and read", func() bool { return lists.Load() > 0 && reads.Load() > 0 })
	w.maestro.Hook(maestrotest.Hooks{})
	w.maestro.Restore(backup)
	w.maestro.Report(first, "heard")
	w.eventually("a later word is known", func() bool { return w.message() == "heard" })
	if got := w.changes(since); got != "MODIFIED" {
		t.Errorf("watches see %s", got)
	}
}

// TestTheSecondListAfterAStart checks the second list, at Maestro's first message. The mirror reads only the works
// changed since the first list began.
func TestTheSecondListAfterAStart(t *testing.T) {
	m := maestrotest.New()
	w := follow(t, m)
	w.create("a", manifests("x", "one"))
	w.stop()
	subscribe, lists := make(chan struct{}), make(chan time.Time, 10)
	m.Hook(maestrotest.Hooks{
		BeforeSubscribe: func() error {
			<-subscribe
			return nil
		},
		BeforeList: func(since time.Time) error {
			lists <- since
			return nil
		},
	})
	began := time.Now()
	w = follow(t, m)
	m.Report(first, "said before anybody listened")
	close(subscribe)
	w.eventually("the status is known", func() bool { return w.message() == "said before anybody listened" })
	if since := <-lists; !since.IsZero() {
		t.Errorf("the first reading was of what has changed since %s", since)
	}
	if since := <-lists; since.IsZero() || since.After(began) {
		t.Errorf("the second reading was of what has changed since %s: the first began after %s", since, began)
	}
}

// TestLostAnswers checks a write with a lost answer. The mirror reads the work, and tells the client the result of the
// write. After an update, the client gets a conflict, and reads the work again.
func TestLostAnswers(t *testing.T) {
	unreachable := status.Error(codes.Unavailable, "the connection has ended")
	w := follow(t, maestrotest.New())
	w.maestro.Hook(maestrotest.Hooks{AfterPublish: func(cetypes.EventAction) error { return unreachable }})
	made := w.create("a", manifests("x", "one"))
	if _, err := w.update(manifests("y", "one")); !apierrors.IsConflict(err) {
		t.Errorf("whoever has made an update reads it again: %v", err)
	}
	if known := w.mirror.Known(key); known.Generation != 2 {
		t.Errorf("generation %d", known.Generation)
	}
	if _, err := w.mirror.Delete(t.Context(), w.mirror.Known(key)); err != nil {
		t.Error(err)
	}
	if made.Generation != 1 {
		t.Errorf("an answer was changed: generation %d", made.Generation)
	}
}

// TestErrorsOfFailedWrites checks the errors of failed writes. A write refused by Maestro has no effect. The mirror
// does not report a failure for a write with an unknown result.
func TestErrorsOfFailedWrites(t *testing.T) {
	unreachable := status.Error(codes.Unavailable, "no connection")
	for name, tc := range map[string]struct {
		before error
		get    error
		is     func(error) bool
	}{
		"not reached":             {before: unreachable, is: apierrors.IsServiceUnavailable},
		"not valid":               {before: errors.New("the manifest bundle in the resource is invalid, kind"), is: apierrors.IsBadRequest},
		"failed":                  {before: errors.New("the database"), is: apierrors.IsInternalError},
		"failed, and not to read": {before: unreachable, get: unreachable, is: apierrors.IsTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			failing := maestrotest.Hooks{
				BeforePublish: func(cetypes.EventAction) error { return tc.before }, BeforeGet: func(string) error { return tc.get },
			}
			w := follow(t, maestrotest.New())
			w.maestro.Hook(failing)
			if _, err := w.mirror.Create(t.Context(), aWork("a", manifests("x", "one"))); !tc.is(err) {
				t.Errorf("create: %v", err)
			}
			w.maestro.Hook(maestrotest.Hooks{})
			made := w.create("b", manifests("x", "one"))
			w.maestro.Hook(failing)
			if _, err := w.update(manifests("y", "one")); !tc.is(err) {
				t.Errorf("update: %v", err)
			}
			if _, err := w.mirror.Delete(t.Context(), made); !tc.is(err) {
				t.Errorf("delete: %v", err)
			}
		})
	}
}

// anApplication returns the manifest of a work's Application, or the manifest of an operation request. The text in rest
// ends the manifest.
func anApplication(rest string) workv1.ManifestsTemplate {
	return workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook","namespace":"argocd"` + rest),
	}}}}
}

// TestRefusedOperations checks which operation requests are refused without a write to Maestro. A request before the
// agent's first report about the Application, or within a second of an earlier operation, is a conflict. The client can
// try again. A request to end an operation is invalid.
func TestRefusedOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const operation = `,"resourceVersion":"7"},"operation":{"sync":{}}}`
		w := follow(t, maestrotest.New())
		w.create("a", anApplication(`},"spec":{}}`))
		before := len(w.maestro.Published())
		if _, err := w.update(anApplication(operation)); !apierrors.IsConflict(err) {
			t.Errorf("of an unknown version: %v", err)
		}
		w.maestro.Tells(first, "7", "2026-03-01T11:00:00Z")
		w.eventually("the agent has told", func() bool { return len(w.mirror.Known(key).Status.ResourceStatus.Manifests) > 0 })
		if _, err := w.update(anApplication(operation)); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "within the last second") {
			t.Errorf("right after another one: %v", err)
		}
		if _, err := w.update(anApplication(`,"resourceVersion":"7"},"status":{}}`)); !apierrors.IsBadRequest(err) {
			t.Errorf("the end of one: %v", err)
		}
		if after := len(w.maestro.Published()); after != before {
			t.Errorf("%d writes", after-before)
		}
		var err error
		w.eventually("it is taken", func() bool {
			_, err = w.update(anApplication(operation))
			return !apierrors.IsConflict(err)
		})
		if err != nil {
			t.Error(err)
		}
		if got := string(w.maestro.Manifests(first)[0].Raw); !strings.Contains(got, `"startedAt":"2026-03-01T11:00:00Z"`) {
			t.Errorf("agents get %s", got)
		}
		if got := string(w.mirror.Known(key).Spec.Workload.Manifests[0].Raw); !strings.Contains(got, `"resourceVersion":"7"`) {
			t.Errorf("the hub shows %s", got)
		}
	})
}

// TestAFollowerChangesNoWork checks that a process without the permission to write changes no work.
func TestAFollowerChangesNoWork(t *testing.T) {
	w := follow(t, maestrotest.New())
	made := w.create("a", manifests("x", "one"))
	before := len(w.maestro.Published())
	w.mirror.MayWrite = func() error { return errors.New("another one leads") }
	another := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "n"}}
	if _, err := w.mirror.Create(t.Context(), another); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("create: %v", err)
	}
	if _, err := w.update(manifests("y", "one")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("update: %v", err)
	}
	if _, err := w.mirror.Delete(t.Context(), made); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("delete: %v", err)
	}
	if after := len(w.maestro.Published()); after != before {
		t.Errorf("%d writes", after-before)
	}
}

// TestAWriteByASecondProcess checks a write of a second process. If Maestro's version differs from the mirror's
// version, the mirror changes no work and takes over Maestro's version.
func TestAWriteByASecondProcess(t *testing.T) {
	m := maestrotest.New()
	w, other := follow(t, m), follow(t, m)
	made := w.create("a", manifests("x", "one"))
	w.eventually("the other has it", func() bool {
		known, err := other.mirror.Get(t.Context(), key)
		return err == nil && known != nil
	})
	other.mustUpdate(manifests("y", "one"))
	if _, err := w.update(manifests("z", "one")); !apierrors.IsConflict(err) {
		t.Errorf("update: %v", err)
	}
	other.mustUpdate(manifests("v", "one"))
	if _, err := w.mirror.Delete(t.Context(), w.mirror.Known(key)); !apierrors.IsConflict(err) {
		t.Errorf("delete: %v", err)
	}
	if _, err := w.mirror.Create(t.Context(), aWork("c", manifests("x", "one"))); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create: %v", err)
	}
	if known := w.mirror.Known(key); known.Generation != 3 || made.Generation != 1 {
		t.Errorf("generation %d", known.Generation)
	}
}

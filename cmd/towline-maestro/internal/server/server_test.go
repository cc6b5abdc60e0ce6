package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/contact"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

const (
	source  = "towline"
	cluster = "cluster1"
)

// world is a server of the works in a test Maestro, with a client of the server.
type world struct {
	*testing.T

	maestro *maestrotest.Maestro
	config  *rest.Config
	works   workclient.ManifestWorkInterface
	stop    func() // returns after the end of the server

	// lost is the reason why the process may not write; nil if the process may write.
	lost atomic.Pointer[string]
}

// serve runs the shipped API without the authentication and authorization of users, and waits for the server. The
// end-to-end suite tests the authorization, because the authorization needs a hub.
func serve(t *testing.T) *world {
	t.Helper()
	w := start(t, maestrotest.New())
	w.eventually("the server is ready", func() bool {
		_, err := w.works.List(w.Context(), metav1.ListOptions{})
		return err == nil
	})
	return w
}

// start starts a server of the works in a Maestro, and does not wait until the server is ready.
func start(t *testing.T, m *maestrotest.Maestro) *world {
	t.Helper()
	known := contact.With(m)
	works := mirror.New(known, source, testr.New(t))
	works.IDs = ids
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, scheme, err := newConfig(works, known, testr.New(t))
	if err != nil {
		t.Fatal(err)
	}
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort, serving.ServerCert.CertDirectory = listener, listener.Addr().(*net.TCPAddr).Port, t.TempDir()
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		t.Fatal(err)
	}
	server, err := install(config, scheme, works)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, maestro: m, config: rest.CopyConfig(config.LoopbackClientConfig)}
	works.MayWrite = func() error {
		if why := w.lost.Load(); why != nil {
			return errors.New(*why)
		}
		return nil
	}
	w.run(server, works)
	client, err := workclient.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.works = client.ManifestWorks(cluster)
	return w
}

func (w *world) run(server *genericserver.GenericAPIServer, works *mirror.Mirror) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 2)
	go func() { done <- server.PrepareRun().RunWithContext(ctx) }()
	go func() {
		works.Run(ctx)
		done <- nil
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				w.Error(err)
			}
		}
	})
	w.Cleanup(w.stop)
}

func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			w.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}

func aWork(name, word string) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"word": word}},
		Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","data":{"word":"` + word + `"},"kind":"ConfigMap","metadata":{"name":"one"}}`),
		}}}}},
	}
}

func (w *world) create(name, word string) *workv1.ManifestWork {
	w.Helper()
	made, err := w.works.Create(w.Context(), aWork(name, word), metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// ids computes the bundle ids in all tests.
var ids = bundle.NewIDs(source, []byte("a key that is the same in all tests"))

func id(name string) string {
	return ids.Of(types.NamespacedName{Namespace: cluster, Name: name}, 0)
}

func TestCreateAndRead(t *testing.T) {
	w := serve(t)
	made := w.create("a", "x")
	if made.UID == "" || made.Generation != 1 || made.Namespace != cluster || made.ResourceVersion == "" {
		t.Errorf("%+v", made.ObjectMeta)
	}
	got, err := w.works.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("(-made +read):\n%s", diff)
	}
	if _, err := w.works.Create(t.Context(), aWork("a", "x"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the name is taken: %v", err)
	}
	if _, err := w.works.Create(t.Context(), aWork("Not A Name", "x"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the name is none: %v", err)
	}
	named := aWork("", "x")
	named.GenerateName = "made-"
	if made, err := w.works.Create(t.Context(), named, metav1.CreateOptions{}); err != nil || !strings.HasPrefix(made.Name, "made-") {
		t.Errorf("%v, %v", made, err)
	}
	if _, err := w.works.Get(t.Context(), "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is none: %v", err)
	}
}

// TestNoWorkShowsItsID: a work on the hub does not contain the bundle's id in Maestro, because readers of works may not
// be trusted with the ids.
func TestNoWorkShowsItsID(t *testing.T) {
	w := serve(t)
	w.create("a", "x")
	w.maestro.Report(id("a"), "applied")
	var data []byte
	w.eventually("the agent is heard", func() bool {
		got, err := w.works.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		data, err = json.Marshal(got)
		return err == nil && len(got.Status.Conditions) > 0
	})
	if strings.Contains(string(data), id("a")) {
		t.Errorf("%s", data)
	}
}

// TestDryRun: a dry run has the same answer as the write, and does not write to Maestro.
func TestDryRun(t *testing.T) {
	w := serve(t)
	dry := []string{metav1.DryRunAll}
	if _, err := w.works.Create(t.Context(), aWork("a", "x"), metav1.CreateOptions{DryRun: dry}); err != nil {
		t.Error(err)
	}
	made := w.create("a", "x")
	writes := len(w.maestro.Published())
	if _, err := w.works.Create(t.Context(), aWork("a", "x"), metav1.CreateOptions{DryRun: dry}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the name is taken: %v", err)
	}
	made.Labels = map[string]string{"word": "y"}
	if now, err := w.works.Update(t.Context(), made, metav1.UpdateOptions{DryRun: dry}); err != nil || now.Labels["word"] != "y" {
		t.Errorf("%+v, %v", now, err)
	}
	if err := w.works.Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: dry}); err != nil {
		t.Error(err)
	}
	if got := len(w.maestro.Published()) - writes; got != 0 {
		t.Errorf("%d writes", got)
	}
}

// TestUpdates: updates and each kind of patch work, with the preconditions of the Kubernetes API.
func TestUpdates(t *testing.T) {
	w := serve(t)
	made := w.create("a", "x")
	patch := func(kind types.PatchType, data string) (*workv1.ManifestWork, error) {
		options := metav1.PatchOptions{}
		if kind == types.ApplyPatchType {
			options = metav1.PatchOptions{FieldManager: "me", Force: ptr.To(true)}
		}
		return w.works.Patch(t.Context(), "a", kind, []byte(data), options)
	}
	const change = `{"metadata":{"%s":"%s","annotations":{"a":"1"}}}`
	merged, err := patch(types.MergePatchType, fmt.Sprintf(change, "resourceVersion", made.ResourceVersion))
	if err != nil || merged.Annotations["a"] != "1" || merged.Generation != 1 || merged.UID != made.UID {
		t.Fatalf("%+v, %v", merged, err)
	}
	if _, err := patch(types.MergePatchType, fmt.Sprintf(change, "resourceVersion", made.ResourceVersion)); !apierrors.IsConflict(err) {
		t.Errorf("of an earlier version: %v", err)
	}
	if _, err := patch(types.MergePatchType, fmt.Sprintf(change, "uid", "another")); !apierrors.IsConflict(err) {
		t.Errorf("of another work: %v", err)
	}
	replaced, err := patch(types.JSONPatchType, `[{"op":"replace","path":"/metadata/annotations/a","value":"3"},`+
		`{"op":"add","path":"/spec/deleteOption","value":{"propagationPolicy":"Orphan"}}]`)
	if err != nil || replaced.Annotations["a"] != "3" || replaced.Generation != 2 {
		t.Errorf("%+v, %v", replaced, err)
	}
	applied := `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"a","labels":{"by":"apply"}}}`
	now, err := patch(types.ApplyPatchType, applied)
	if err != nil || now.Labels["by"] != "apply" || now.Labels["word"] != "x" || len(now.Spec.Workload.Manifests) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	same, err := w.works.Update(t.Context(), now, metav1.UpdateOptions{})
	if err != nil || same.ResourceVersion != now.ResourceVersion || same.Generation != now.Generation {
		t.Errorf("nothing changes, and it is written: %+v, %v", same, err)
	}
	forged := now.DeepCopy()
	forged.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}
	forged.Finalizers, forged.Generation = nil, 99
	after, err := w.works.Update(t.Context(), forged, metav1.UpdateOptions{})
	if err != nil || len(after.Status.Conditions) > 0 || len(after.Finalizers) == 0 || after.Generation != now.Generation {
		t.Errorf("a status, a finalizer and a generation are not for those who write: %+v, %v", after, err)
	}
	if _, err := w.works.UpdateStatus(t.Context(), forged, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
		t.Errorf("statuses come from agents, through Maestro: %v", err)
	}
}

// TestDelete: a deletion obeys the preconditions, and ends after the answer of the work agent.
func TestDelete(t *testing.T) {
	w := serve(t)
	made := w.create("a", "x")
	for name, only := range map[string]*metav1.Preconditions{
		"another UID":        {UID: ptr.To(types.UID("another"))},
		"an earlier version": {ResourceVersion: ptr.To("1")},
	} {
		if err := w.works.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: only}); !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.works.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}); err != nil {
		t.Fatal(err)
	}
	got, err := w.works.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.DeletionTimestamp.IsZero() || len(got.Finalizers) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Labels = nil
	if _, err := w.works.Update(t.Context(), got, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("it is being deleted: %v", err)
	}
	w.maestro.Removed(id("a"))
	w.eventually("it is gone", func() bool {
		_, err := w.works.Get(t.Context(), "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if err := w.works.Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is gone: %v", err)
	}
}

// TestPages: a list with a limit comes in pages. All pages have the version of the first page. Selectors limit the
// list.
func TestPages(t *testing.T) {
	w := serve(t)
	for i := range 5 {
		w.create("work-"+strconv.Itoa(i), "x")
	}
	var names []string
	var version string
	options := metav1.ListOptions{Limit: 2}
	for pages := 0; ; pages++ {
		list, err := w.works.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
		if pages == 0 {
			version = list.ResourceVersion
			w.create("work-0-late", "x")
			w.create("work-9-late", "x")
		} else if list.ResourceVersion != version {
			t.Errorf("version %s, not %s", list.ResourceVersion, version)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if want := []string{"work-0", "work-1", "work-2", "work-3", "work-4", "work-9-late"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	for selector, want := range map[string]int{"word=x": 7, "word=y": 0} {
		if list, err := w.works.List(t.Context(), metav1.ListOptions{LabelSelector: selector}); err != nil || len(list.Items) != want {
			t.Errorf("%s: %d, %v", selector, len(list.Items), err)
		}
	}
	if list, err := w.works.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=work-3"}); err != nil || len(list.Items) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []metav1.ListOptions{{Continue: "!"}, {Continue: "eA", Limit: 1}, {FieldSelector: "spec.x=y"}} {
		if _, err := w.works.List(t.Context(), bad); !apierrors.IsBadRequest(err) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// next returns the next event of a watch. The test fails if the watch ends, or without an event in 20 seconds.
func next(t *testing.T, events watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-events.ResultChan():
		if !open {
			t.Fatal("the watch has ended")
		}
		return event
	case <-time.After(20 * time.Second):
		t.Fatal("no event comes")
	}
	return watch.Event{}
}

// seen returns the type of an event and the name of the work.
func seen(event watch.Event) string {
	work, ok := event.Object.(*workv1.ManifestWork)
	if !ok {
		return string(event.Type)
	}
	return string(event.Type) + " " + work.Name
}

// TestWatchesEndWithTheServer: a stopping server ends the watches soon, so that watching clients can go on with the
// next leader.
func TestWatchesEndWithTheServer(t *testing.T) {
	w := serve(t)
	events, err := w.works.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	w.create("a", "x")
	next(t, events)
	began := time.Now()
	w.stop()
	if took := time.Since(began); took > 30*time.Second { // The server needs a minute if the server does not end the watches.
		t.Errorf("the server ended after %s", took)
	}
	w.eventually("the watch has ended", func() bool {
		select {
		case _, open := <-events.ResultChan():
			return !open
		default:
			return false
		}
	})
}

// TestWatch: a watch from a version, a watch with all existing works first, a watch with a selector, and a watch from
// an expired version.
func TestWatch(t *testing.T) {
	w := serve(t)
	made := w.create("a", "x")
	w.create("b", "y")
	for name, tc := range map[string]struct {
		options metav1.ListOptions
		want    []string
	}{
		"from a version": {metav1.ListOptions{ResourceVersion: made.ResourceVersion}, []string{"ADDED b"}},
		"from now":       {metav1.ListOptions{}, []string{"ADDED a", "ADDED b"}},
		"from now, and bookmarks would be taken": {
			metav1.ListOptions{AllowWatchBookmarks: true}, []string{"ADDED a", "ADDED b"}},
		"from 0, and bookmarks would be taken": {
			metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true}, []string{"ADDED a", "ADDED b"}},
		"selected by name":    {metav1.ListOptions{FieldSelector: "metadata.name=b"}, []string{"ADDED b"}},
		"selected by a label": {metav1.ListOptions{LabelSelector: "word=x"}, []string{"ADDED a"}},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := w.works.Watch(t.Context(), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()
			for _, want := range tc.want {
				if got := seen(next(t, events)); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
	for _, old := range []string{"1", strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)} {
		events, err := w.works.Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
		if err == nil {
			event := next(t, events)
			err = apierrors.FromObject(event.Object)
			events.Stop()
		}
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("version %s: %v", old, err)
		}
	}
}

// TestWatchListIsRefused: the server refuses a watch with a request for all works first. client-go's caches then use
// lists.
func TestWatchListIsRefused(t *testing.T) {
	w := serve(t)
	w.create("a", "x")
	_, err := w.works.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if !apierrors.IsInvalid(err) {
		t.Errorf("it is answered with %v", err)
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return w.works.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return w.works.Watch(ctx, o) },
	}, &workv1.ManifestWork{}, 0, cache.Indexers{})
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	w.eventually("the cache is filled", informer.HasSynced)
	w.create("b", "y")
	w.eventually("the cache has what came later", func() bool { return len(informer.GetStore().ListKeys()) == 2 })
	end()
	<-done
}

// TestWatchChanges: a work leaving the selection is a deletion for the watch, and a status report of the work agent is
// a change.
func TestWatchChanges(t *testing.T) {
	w := serve(t)
	made := w.create("a", "x")
	events, err := w.works.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion, LabelSelector: "word=x"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	w.maestro.Report(id("a"), "applied")
	event := next(t, events)
	if got := event.Object.(*workv1.ManifestWork).Status.Conditions[0].Message; event.Type != watch.Modified || got != "applied" {
		t.Errorf("%s %s", event.Type, got)
	}
	for _, tc := range []struct{ word, want string }{{"y", "DELETED a"}, {"x", "ADDED a"}} {
		patch := []byte(`{"metadata":{"labels":{"word":"` + tc.word + `"}}}`)
		if _, err := w.works.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := seen(next(t, events)); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}

// get returns the server's answer to a GET request for a path.
func (w *world) get(path, accept string) (status int, body []byte) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.config.Host+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		w.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, body
}

// says waits until /readyz/works reports an error with the given parts. /readyz?verbose must fail without the last
// part, because all users may read /readyz.
func (w *world) says(parts ...string) {
	w.Helper()
	w.eventually(strings.Join(parts, " "), func() bool {
		status, body := w.get("/readyz/works", "*/*")
		return status == http.StatusInternalServerError && !slices.ContainsFunc(parts, func(part string) bool {
			return !strings.Contains(string(body), part)
		})
	})
	if status, body := w.get("/readyz?verbose", "*/*"); status == http.StatusOK || strings.Contains(string(body), parts[len(parts)-1]) {
		w.Errorf("%d, %s", status, body)
	}
}

// TestAFormerLeaderRefusesReads: a process is not ready after the election of a new leader, and refuses reads, because
// the works of the process may be old.
func TestAFormerLeaderRefusesReads(t *testing.T) {
	w := serve(t)
	w.create("a", "x")
	lost := "another process leads"
	w.lost.Store(&lost)
	w.says(lost)
	if _, err := w.works.List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list: %v", err)
	}
	if _, err := w.works.Get(t.Context(), "a", metav1.GetOptions{ResourceVersion: "0"}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("get: %v", err)
	}
	if _, err := w.works.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("watch: %v", err)
	}
}

// TestNotReadyWithoutTheWorks: a process without access to the works is not ready, and reports the reason.
func TestNotReadyWithoutTheWorks(t *testing.T) {
	m := maestrotest.New()
	m.Hook(maestrotest.Hooks{BeforeList: func(time.Time) error { return errors.New("connection refused") }})
	start(t, m).says(errNotFilled.Error(), "the last error: read", "connection refused")
}

// TestReadiness: a process is not ready while Maestro refuses the subscription, and reports the reason. A ready process
// stays ready if Maestro refuses a later subscription.
func TestReadiness(t *testing.T) {
	m := maestrotest.New()
	refuse := func() error { return errors.New("token not authenticated") }
	m.Hook(maestrotest.Hooks{BeforeSubscribe: refuse})
	w := start(t, m)
	w.says("the last error: subscribe", "token not authenticated")
	m.Hook(maestrotest.Hooks{})
	isReady := func() bool {
		status, _ := w.get("/readyz", "*/*")
		return status == http.StatusOK
	}
	w.eventually("it is ready", isReady)

	m.Hook(maestrotest.Hooks{BeforeSubscribe: refuse})
	m.Cut()
	_, metrics := w.get("/metrics", "*/*")
	w.eventually("the metrics tell that no statuses come", func() bool {
		_, metrics = w.get("/metrics", "*/*")
		return strings.Contains(string(metrics), "\ntowline_maestro_answered{request=\"subscribe\"} 0\n")
	})
	if !isReady() {
		t.Error("it has works to show, and does not")
	}
	for _, want := range []string{"\ntowline_maestro_failures_total{request=\"subscribe\"} ", "\ntowline_maestro_last_read_timestamp_seconds 1"} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// TestTable: the server answers a request for a Table, the format for kubectl.
func TestTable(t *testing.T) {
	w := serve(t)
	w.create("a", "x")
	_, body := w.get("/apis/work.open-cluster-management.io/v1/namespaces/"+cluster+"/manifestworks", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		t.Fatal(err)
	}
	if table.Kind != "Table" || len(table.Rows) != 1 || table.Rows[0].Cells[0] != "a" {
		t.Errorf("%+v", table)
	}
}

// TestListsHaveTheManifests: a dynamic client lists works with the manifests.
func TestListsHaveTheManifests(t *testing.T) {
	w := serve(t)
	w.create("a", "x")
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(version.WithResource("manifestworks")).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, found, _ := unstructured.NestedSlice(list.Items[0].Object, "spec", "workload", "manifests"); !found {
		t.Errorf("%+v", list.Items[0])
	}
}

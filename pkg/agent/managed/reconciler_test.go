package managed

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

const (
	key    = "app|managed-resources|a|1.8.3.gz"
	config = `[{"kind":"ConfigMap","name":"a","liveState":"{\"kind\":\"ConfigMap\"}"}]`
	secret = `[{"kind":"Secret","name":"a","liveState":"{\"data\":{\"a\":\"c2VjcmV0\"},\"kind\":\"Secret\"}"}]`
)

// world is an agent with an Application, the Redis of the cluster, and a hub.
type world struct {
	*testing.T
	client.Reader
	*reconciler

	redis *miniredis.Miniredis
	gone  bool

	// code and text are the hub's answer to a content, and content is the last content on the hub.
	code    int
	text    string
	refuses int // the answer to a body
	content []byte
	asked   []string
}

// Get implements client.Reader for the Application.
func (w *world) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	if w.gone {
		return apierrors.NewNotFound(argocd.GroupVersion.WithResource("applications").GroupResource(), key.Name)
	}
	app := out.(*argocd.Application)
	app.Namespace, app.Name, app.Annotations = key.Namespace, key.Name, map[string]string{apis.AnnotationWork: "a-00000"}
	return nil
}

// ServeHTTP is the hub.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	wanted := r.URL.Query().Get(managedresources.Digest)
	because := r.URL.Query().Get(managedresources.Because)
	w.asked = append(w.asked, strings.TrimSpace(r.Method+" "+map[bool]string{true: "renew", false: because}[wanted != ""]))
	if r.URL.Path != "/prefix"+managedresources.Path("cluster1", "a-00000") {
		w.Errorf("asked for %s", r.URL.Path)
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		w.Error(err)
	case w.code != 0:
		http.Error(out, w.text, w.code)
		return
	case r.Method == http.MethodDelete:
		w.content = nil
	case wanted != "" && (w.content == nil || wanted != digest(w.content)):
		http.Error(out, "unknown", http.StatusConflict)
		return
	case wanted == "" && w.refuses != 0:
		http.Error(out, "refused", w.refuses)
		return
	case wanted == "":
		w.content = body
	}
	out.WriteHeader(http.StatusNoContent)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, redis: miniredis.RunT(t)}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL + "/prefix")
	if err != nil {
		t.Fatal(err)
	}
	w.restart(&hub{address: address, client: server.Client(), namespace: "cluster1"})
	return w
}

// restart begins a new process of the agent.
func (w *world) restart(to *hub) {
	o := Options{Namespace: "cluster1", Home: "argocd", Work: func(_ context.Context, app *argocd.Application) (string, error) {
		return app.Annotations[apis.AnnotationWork], nil
	}}
	w.reconciler = newReconciler(o, w, argocache.NewRedis(argocache.Address{HostPort: w.redis.Addr()}), to)
}

// write sets the entry in the cluster's Redis.
func (w *world) write(text string) {
	w.Helper()
	if err := w.redis.Set(key, string(tree.Compress([]byte(text)))); err != nil {
		w.Fatal(err)
	}
}

var app = types.NamespacedName{Namespace: "argocd", Name: "a"}

// expect reconciles, and compares the requests to the hub.
func (w *world) expect(title string, requests ...string) ctrl.Result {
	w.Helper()
	w.asked = nil
	result, err := w.Reconcile(w.Context(), ctrl.Request{NamespacedName: app})
	if err != nil {
		w.Errorf("%s: %v", title, err)
	}
	if !slices.Equal(w.asked, requests) {
		w.Errorf("%s: the requests are %q, not %q", title, w.asked, requests)
	}
	return result
}

// TestSend: the agent sends changed content, renews unchanged content, and removes content that Argo CD has removed.
func TestSend(t *testing.T) {
	w := newWorld(t)
	w.expect("no entry", "DELETE NoEntryOnCluster")
	w.expect("still no entry")
	w.write(config)
	result := w.expect("an entry", "PUT")
	if result.RequeueAfter < renewal || result.RequeueAfter > renewal*5/4 {
		t.Errorf("again after %s", result.RequeueAfter)
	}
	w.expect("the same")
	w.write(secret)
	w.expect("a change", "PUT")
	plain, err := managedresources.Copy(bytes.NewReader(w.content), true, false)
	if err != nil || strings.Contains(string(plain), "c2VjcmV0") || !strings.Contains(string(plain), "++++++++") {
		t.Errorf("%v: the hub has %s", err, plain)
	}
	w.sent.doubt(app)
	w.expect("a refresh", "PUT renew")
	w.content = nil
	w.sent.doubt(app)
	w.expect("a refresh after a loss", "PUT renew", "PUT")
	w.restart(w.hub)
	w.expect("a restart", "PUT renew")
	w.redis.Del(key)
	w.expect("an end", "DELETE NoEntryOnCluster")
	w.gone = true
	w.expect("an Application that is gone")
	if len(w.sent.known) != 0 {
		t.Errorf("remembered: %v", w.sent.known)
	}
}

// TestAnswers: an answer about an Application concerns only this Application. After every other failure, the agent pauses.
func TestAnswers(t *testing.T) {
	for title, tc := range map[string]struct {
		code   int
		text   string
		asks   []string
		again  time.Duration
		pauses bool
	}{
		"not delivered":         {http.StatusNotFound, managedresources.Absent, []string{"PUT renew"}, absentAgain, false},
		"busy":                  {http.StatusTooManyRequests, "busy", []string{"PUT renew"}, busyAgain, false},
		"an older hub":          {http.StatusNotFound, "404 page not found", []string{"PUT renew"}, firstPause, true},
		"no right":              {http.StatusForbidden, "forbidden", []string{"PUT renew"}, firstPause, true},
		"towline-source is off": {http.StatusServiceUnavailable, "unavailable", []string{"PUT renew"}, firstPause, true},
	} {
		w := newWorld(t)
		w.write(config)
		w.code, w.text = tc.code, tc.text
		if result := w.expect(title, tc.asks...); result.RequeueAfter < tc.again-time.Second || result.RequeueAfter > 2*tc.again {
			t.Errorf("%s: again after %s", title, result.RequeueAfter)
		}
		if paused := w.ofHub.left() > 0; paused != tc.pauses {
			t.Errorf("%s: pauses: %t", title, paused)
		}
		if tc.pauses {
			w.expect(title + ": in the pause")
			continue
		}
		w.code = 0
		w.expect(title+": afterwards", "PUT renew", "PUT")
	}
}

// TestRefused: content that the hub cannot show replaces nothing, and the former content goes.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.write(config)
	w.expect("an entry", "PUT renew", "PUT")
	w.write(`{}`)
	w.expect("no list", "DELETE Invalid")
	w.expect("again")
	w.write(config)
	w.expect("a list", "PUT")
	w.write("[" + strings.Repeat(" ", managedresources.MaxBytes) + "]")
	w.expect("too much", "DELETE TooLarge")
	for code, reason := range map[int]string{
		http.StatusRequestEntityTooLarge: "TooLarge", http.StatusInsufficientStorage: "Full", http.StatusUnprocessableEntity: "Invalid",
	} {
		w := newWorld(t)
		w.write(config)
		w.refuses = code
		w.expect("refused by the hub", "PUT renew", "PUT", "DELETE "+reason)
		w.expect("refused by the hub, again")
	}
}

// TestWithoutRedis: without the cluster's Redis, the hub keeps the content, and the agent pauses.
func TestWithoutRedis(t *testing.T) {
	w := newWorld(t)
	w.write(config)
	w.expect("an entry", "PUT renew", "PUT")
	w.redis.SetError("LOADING")
	if result := w.expect("no Redis"); result.RequeueAfter < firstPause-time.Second {
		t.Errorf("again after %s", result.RequeueAfter)
	}
	w.redis.SetError("")
	w.ofRedis.until = time.Time{}
	w.expect("Redis again")
}

// TestEvents: a comparison and a refresh wake the Application, and other changes do not.
func TestEvents(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*argocd.Application)
		wakes  bool
		doubts bool
	}{
		"a comparison":  {func(a *argocd.Application) { a.Status.ReconciledAt = "2026-01-02T03:04:05Z" }, true, false},
		"a refresh":     {func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "normal" }, true, true},
		"another work":  {func(a *argocd.Application) { a.Annotations[apis.AnnotationWork] = "b" }, true, false},
		"a health only": {func(a *argocd.Application) { a.Status.Health.Status = "Healthy" }, false, false},
	} {
		r := newReconciler(Options{}, nil, nil, nil)
		r.sent.set(app, sent{at: time.Now()})
		before := &argocd.Application{}
		before.Namespace, before.Name, before.Annotations = app.Namespace, app.Name, map[string]string{}
		after := &argocd.Application{}
		after.Namespace, after.Name, after.Annotations = app.Namespace, app.Name, map[string]string{}
		tc.change(after)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		t.Cleanup(q.ShutDown)
		r.compared().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		if q.Len() > 0 != tc.wakes || r.sent.get(app, "").at.IsZero() != tc.doubts {
			t.Errorf("%s: wakes %t, doubts %t", title, q.Len() > 0, r.sent.get(app, "").at.IsZero())
		}
	}
}

package resourcetree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
)

// hub is a hub with one Application, or none, and what Argo CD has there.
type hub struct {
	client.Client
	app      *argocd.Application
	settings map[string]string
	secret   *corev1.Secret
}

func (h *hub) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if cm, ok := obj.(*corev1.ConfigMap); ok {
		cm.Data = h.settings
		return nil
	}
	if h.app == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	*obj.(*argocd.Application) = *h.app
	return nil
}

func (h *hub) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if by := opts[0].(client.MatchingFields)[byDestination]; h.secret != nil && slices.Contains(destinationsOf(h.secret), by) {
		list.(*corev1.SecretList).Items = []corev1.Secret{*h.secret}
	}
	return nil
}

// store is a Redis, with what it was asked.
type store struct {
	entries map[string]string
	asked   []string
	away    error
	lasts   time.Duration
}

func (s *store) Set(_ context.Context, key, _ string, value []byte, lasts time.Duration) error {
	s.asked = append(s.asked, "set "+key)
	if s.away == nil {
		s.entries[key], s.lasts = string(value), lasts
	}
	return s.away
}

func (s *store) Renew(_ context.Context, key string, _ time.Duration) (bool, error) {
	s.asked = append(s.asked, "renew "+key)
	_, there := s.entries[key]
	return there, s.away
}

func (s *store) Remove(_ context.Context, key, _ string) error {
	s.asked = append(s.asked, "remove "+key)
	delete(s.entries, key)
	return s.away
}

func (s *store) Plain(context.Context) (bool, error) { return true, nil }

func (s *store) take() []string {
	asked := s.asked
	s.asked = nil
	return asked
}

func guestbook() *argocd.Application {
	app := fixture.Application("guestbook").Obj()
	app.Status.Resources = []argocd.ResourceStatus{{Version: "v1", Kind: "Service", Name: "a"}}
	return app
}

const key = "app|resources-tree|guestbook|1.8.3"

// TestReconcile goes through the life of an entry: each step changes the hub or Redis, and says what Redis is asked.
func TestReconcile(t *testing.T) {
	s, h := &store{entries: map[string]string{}}, &hub{app: guestbook()}
	r := &Reconciler{Client: h, Store: s, Home: "argocd"}
	name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	aged := func() {
		e := r.memory.get(name)
		e.at = e.at.Add(-expiry / renewals)
		r.memory.remember(name, e)
	}
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"an Application", func() {}, []string{"set " + key}},
		{"the same again", func() {}, nil},
		{"another time to renew", aged, []string{"renew " + key}},
		{"a Redis that was emptied", func() { aged(); clear(s.entries) }, []string{"renew " + key, "set " + key}},
		{"another resource", func() {
			h.app = guestbook()
			h.app.Status.Resources[0].Name = "b"
		}, []string{"set " + key}},
		{"a refresh, by which argocd-server answers a miss", func() {
			h.app = h.app.DeepCopy()
			h.app.Annotations[apis.AnnotationRefresh] = "normal"
			clear(s.entries)
		}, []string{"renew " + key, "set " + key}},
		{"no pull any more", func() {
			h.app = guestbook()
			h.app.Labels[apis.LabelPull] = "false"
		}, []string{"remove " + key}},
		{"that again: somebody else may have written it", func() {}, nil},
		{"pull again", func() { h.app = guestbook() }, []string{"set " + key}},
		{"the hub's own Argo CD", func() {
			h.app = guestbook()
			delete(h.app.Annotations, apis.AnnotationSkipReconcile)
		}, []string{"remove " + key}},
		{"no resources known", func() {
			h.app = guestbook()
			h.app.Status.Resources = nil
		}, nil},
		{"an Application once more", func() { h.app = guestbook() }, []string{"set " + key}},
		{"its end", func() { h.app = nil }, []string{"remove " + key}},
	} {
		step.change()
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, s.take()); diff != "" {
			t.Errorf("%s: Redis was asked (-want +got):\n%s", step.what, diff)
		}
		if _, there := s.entries[key]; there != (result.RequeueAfter > 0) || result.RequeueAfter > expiry/2 {
			t.Errorf("%s: looked at again after %s", step.what, result.RequeueAfter)
		}
	}
	if len(r.memory.entries) > 0 {
		t.Error("an Application that is gone is remembered")
	}
}

// TestRedisIsAway: it is asked once and then left alone for a while, and what was to be written is written afterwards.
func TestRedisIsAway(t *testing.T) {
	s, h := &store{entries: map[string]string{}, away: errors.New("refused")}, &hub{app: guestbook()}
	r := &Reconciler{Client: h, Store: s, Home: "argocd"}
	reconcile := func() time.Duration {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "argocd", Name: "guestbook"}})
		if err != nil {
			t.Fatalf("an error for every Application would fill the log: %v", err)
		}
		return result.RequeueAfter
	}
	for range 5 {
		if wait := reconcile(); wait < pause/2 || wait > 2*pause {
			t.Errorf("tried again after %s", wait)
		}
	}
	if got := s.take(); !slices.Equal(got, []string{"set " + key}) {
		t.Errorf("asked %q", got)
	}
	s.away, r.outage.until = nil, time.Time{}
	reconcile()
	if s.entries[key] == "" || r.outage.lasting {
		t.Error("what was to be written is not")
	}
}

// TestLive goes through what opens a way to the cluster and what closes it: the entry follows each time.
func TestLive(t *testing.T) {
	trimmed, err := clustersecret.TrimPlace(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{apis.LabelClusterName: "cluster1"}},
		Data: map[string][]byte{
			"name": []byte("one"), "server": []byte("https://one.example.com"), "config": []byte(`{"bearerToken":"t"}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := trimmed.(*corev1.Secret)
	app := func(destination string) *argocd.Application {
		a := guestbook()
		a.Annotations[apis.AnnotationCluster] = "cluster1"
		a.Spec.Raw = []byte(`{"destination":` + destination + `}`)
		return a
	}
	const byName, byServer, inCluster = `{"name":"one"}`, `{"server":"https://one.example.com/"}`, `{"server":"https://kubernetes.default.svc"}`
	refused := map[string]string{hubEnabled: "false"}
	s, h := &store{entries: map[string]string{}}, &hub{app: app(byName), secret: secret, settings: refused}
	r := &Reconciler{Client: h, Store: s, Home: "argocd", Paths: &Paths{Reader: h, Home: "argocd"}}
	for _, step := range []struct {
		what   string
		change func()
		live   bool
	}{
		{"a Secret with credentials", func() {}, true},
		{"the in-cluster address", func() { h.app = app(inCluster) }, false},
		{"the Secret's address", func() { h.app = app(byServer) }, true},
		{"a hub that argocd-server may read", func() { h.settings = nil }, false},
		{"one that it may not", func() { h.settings = refused }, true},
		{"no Secret", func() { h.secret = nil }, false},
		{"the Secret again", func() { h.secret = secret }, true},
		{"another cluster", func() { h.app.Annotations[apis.AnnotationCluster] = "cluster2" }, false},
		{"the cluster again", func() { h.app = app(byName) }, true},
		{"not asked for", func() { r.Paths = nil }, false},
	} {
		step.change()
		name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.entries[key]; strings.Contains(got, "on-its-cluster") == step.live {
			t.Errorf("%s: got %s", step.what, got)
		}
		if want := map[bool]time.Duration{true: liveExpiry, false: expiry}[step.live]; s.lasts != want || result.RequeueAfter > want/2 {
			t.Errorf("%s: lasts %s and is renewed after %s", step.what, s.lasts, result.RequeueAfter)
		}
	}
}

func TestWhatWakes(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*argocd.Application)
		want   bool
	}{
		"nothing":          {func(*argocd.Application) {}, false},
		"its health":       {func(a *argocd.Application) { a.Status.Health.Status = "Degraded" }, false},
		"a resource's":     {func(a *argocd.Application) { a.Status.Resources[0].Health = &argocd.Health{Status: "Degraded"} }, true},
		"a refresh":        {func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "hard" }, true},
		"the pull label":   {func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) }, true},
		"skip-reconcile":   {func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) }, true},
		"its destination":  {func(a *argocd.Application) { a.Spec.Raw = []byte(`{"destination":{"name":"one"}}`) }, true},
		"its cluster":      {func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "other" }, true},
		"another resource": {func(a *argocd.Application) { a.Status.Resources = append(a.Status.Resources, argocd.ResourceStatus{}) }, true},
	} {
		after := guestbook()
		tc.change(after)
		if got := changed().Update(event.UpdateEvent{ObjectOld: guestbook(), ObjectNew: after}); got != tc.want {
			t.Errorf("%s: wakes is %t", title, got)
		}
	}
}

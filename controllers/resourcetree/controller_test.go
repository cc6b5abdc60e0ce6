package resourcetree

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
)

// hub has at most one object of each kind. inventory has the reports of the Application's cluster.
type fakeHub struct {
	client.Client
	app       *argocd.Application
	settings  map[string]string
	secret    *corev1.Secret
	work      *workv1.ManifestWork
	cluster   *clusterv1.ManagedCluster
	project   *argocd.AppProject
	bound     []clusterv1beta2.ManagedClusterSetBinding
	inventory *observed.Facts
}

// Facts implements Inventory.
func (h *fakeHub) Facts(context.Context, *argocd.Application) (*observed.Facts, error) {
	return h.inventory, nil
}

func (h *fakeHub) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch into := obj.(type) {
	case *corev1.ConfigMap:
		into.Data = h.settings
		return nil
	case *argocd.Application:
		return give(key, h.app, into)
	case *workv1.ManifestWork:
		return give(key, h.work, into)
	case *clusterv1.ManagedCluster:
		return give(key, h.cluster, into)
	case *argocd.AppProject:
		return give(key, h.project, into)
	case *clusterv1beta2.ManagedClusterSet:
		*into = clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
		into.Spec.ClusterSelector = clusterv1beta2.ManagedClusterSelector{
			SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// give answers with the object, if the hub has the object under the key.
func give[T any, P interface {
	*T
	client.Object
}](key client.ObjectKey, there, into P) error {
	if there == nil || client.ObjectKeyFromObject(there) != key {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	*into = *there
	return nil
}

func (h *fakeHub) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch into := list.(type) {
	case *corev1.SecretList:
		if by := opts[0].(client.MatchingFields)[byDestination]; h.secret != nil && slices.Contains(destinationsOf(h.secret), by) {
			into.Items = []corev1.Secret{*h.secret}
		}
	case *clusterv1beta2.ManagedClusterSetBindingList:
		into.Items = h.bound
	}
	return nil
}

// store is a Redis that records the requests.
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
	app.Status.Resources = []argocd.ResourceStatus{{Version: "v1", Kind: "Service", Name: "status"}}
	return app
}

// reports returns facts of a source that knows all resources.
func reports(resources ...argocd.ResourceStatus) *observed.Facts {
	return &observed.Facts{Detailed: true, Status: argocd.Status{Resources: resources}}
}

func service(namespace, name string) argocd.ResourceStatus {
	return argocd.ResourceStatus{Version: "v1", Kind: "Service", Namespace: namespace, Name: name}
}

const key = "app|resources-tree|guestbook|1.8.3"

// TestReconcile follows the life of an entry: each step changes the hub or Redis, and states the expected requests to
// Redis.
func TestReconcile(t *testing.T) {
	s, h := &store{entries: map[string]string{}}, &fakeHub{app: guestbook(), inventory: reports(service("", "a"))}
	r := &Reconciler{Client: h, Store: s, Home: "argocd", Inventory: h}
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
		{"another resource", func() { h.inventory = reports(service("", "b")) }, []string{"set " + key}},
		{"another resource in the status", func() { h.app.Status.Resources[0].Name = "c" }, nil},
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
		{"a source that knows only some resources", func() {
			h.app = guestbook()
			h.inventory.Detailed = false
		}, nil},
		{"no source that knows anything", func() { h.inventory = nil }, nil},
		{"a report", func() { h.inventory = reports(service("", "a")) }, []string{"set " + key}},
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

// TestRedisOutage: after a failed request, Redis gets no requests for a while. The pending entry is written afterwards.
func TestRedisOutage(t *testing.T) {
	s, h := &store{entries: map[string]string{}, away: errors.New("refused")}, &fakeHub{app: guestbook(), inventory: reports(service("", "a"))}
	r := &Reconciler{Client: h, Store: s, Home: "argocd", Inventory: h}
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

func TestChangesThatTriggerReconciles(t *testing.T) {
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

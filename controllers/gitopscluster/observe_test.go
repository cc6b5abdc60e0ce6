package gitopscluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// hub has Applications on the API server, and an empty cache.
type fakeHub struct {
	client.Client
	t     *testing.T
	apps  []*argocd.Application
	lists int
	gets  int
}

// List is a list from the empty cache.
func (h *fakeHub) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// live is the API server.
type live struct{ *fakeHub }

func (l live) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	l.gets++
	for _, app := range l.apps {
		if client.ObjectKeyFromObject(app) == key {
			app.DeepCopyInto(obj.(*argocd.Application))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "applications"}, key.Name)
}

// List returns the selected Applications, with one Application on each page.
func (l live) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	l.lists++
	o := (&client.ListOptions{}).ApplyOptions(options)
	next := len(o.Continue)
	for n := next; n < len(l.apps); n++ {
		app := l.apps[n]
		if !o.LabelSelector.Matches(labelsOf(app)) {
			continue
		}
		if list.GetContinue() != "" {
			l.t.Error("one page is read into another")
		}
		list.SetContinue("xxxxxxxx"[:n+1])
		switch list := list.(type) {
		case *argocd.ApplicationList:
			list.Items = append(list.Items, *app)
		case *metav1.PartialObjectMetadataList:
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: app.ObjectMeta})
		}
		return nil
	}
	return nil
}

type labelsOfApp map[string]string

func labelsOf(app *argocd.Application) labelsOfApp { return app.Labels }

func (l labelsOfApp) Has(key string) bool              { _, has := l[key]; return has }
func (l labelsOfApp) Get(key string) string            { return l[key] }
func (l labelsOfApp) Lookup(key string) (string, bool) { v, has := l[key]; return v, has }

func pushedTo(name, cluster string) *fixture.ApplicationBuilder {
	return fixture.Application(name).NoAnnotation(apis.AnnotationSkipReconcile).NoAnnotation(apis.AnnotationCluster).
		Label(apis.LabelPull, "false").Spec(`{"destination":{"name":"` + cluster + `"}}`)
}

// TestPushedApplicationKeepsASecret: past the cache, all Applications are listed. After the discovery of a pushed
// Application, only this Application is read, as long as it keeps the Secret.
func TestPushedApplicationKeepsASecret(t *testing.T) {
	h := &fakeHub{t: t, apps: []*argocd.Application{
		pushedTo("elsewhere", "b").Obj(), pushedTo("here", "a").Obj(), fixture.Application("pulled").Cluster("b").Obj(),
	}}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"name": []byte("a")}}
	s.Labels = map[string]string{apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelImported: "true", apis.LabelClusterName: "a"}
	r := &Reconciler{Client: h, Live: live{h}}
	step := func(past bool, want string) {
		t.Helper()
		h.lists, h.gets = 0, 0
		seen := &observation{key: types.NamespacedName{Namespace: "argocd", Name: "fleet"}}
		seen.Live = past
		err := r.observeUsers(t.Context(), seen, []*corev1.Secret{s})
		got := ""
		if user := seen.Users[client.ObjectKeyFromObject(s)]; user != nil {
			got = user.Application.Name
		}
		if err != nil || got != want || past != (h.lists > 0) {
			t.Errorf("kept for %q after %d lists, want %q: %v", got, h.lists, want, err)
		}
		if past && h.gets > 0 {
			t.Errorf("%d Applications are read one by one", h.gets)
		}
	}
	step(false, "")
	step(true, "here")
	step(false, "here")
	h.apps[1] = pushedTo("here", "b").Obj()
	step(false, "")
	step(true, "")
	h.apps[1] = fixture.Application("pulled-too").Cluster("a").Obj() // the cache does not have the Application yet
	step(true, "pulled-too")
	h.apps[1] = pushedTo("both", "a").Label(apis.LabelPull, "true").Obj() // the hub's Argo CD deploys the Application too
	step(true, "both")
	step(false, "both")
	h.apps = h.apps[:1]
	step(false, "")
	step(true, "")
	if n := len(r.pushers.all); n > 0 {
		t.Errorf("%d GitOpsClusters are remembered for nothing", n)
	}
}

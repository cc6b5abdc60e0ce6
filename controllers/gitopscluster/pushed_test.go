package gitopscluster

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// hub has Applications, those for pull in its cache, and answers for the others one by one.
type hub struct {
	client.Client
	t     *testing.T
	apps  []*argocd.Application
	lists int
}

func (h *hub) all(pulled bool) (out []argocd.Application) {
	for _, app := range h.apps {
		if app.Pulled() == pulled {
			out = append(out, *app)
		}
	}
	return out
}

// List is that of the cache.
func (h *hub) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if o := (&client.ListOptions{}).ApplyOptions(options); o.FieldSelector == nil { // else of a cluster: there are none
		list.(*argocd.ApplicationList).Items = h.all(true)
	}
	return nil
}

// live is the API server.
type live struct{ *hub }

func (l live) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	for _, app := range l.apps {
		if client.ObjectKeyFromObject(app) == key {
			app.DeepCopyInto(obj.(*argocd.Application))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "applications"}, key.Name)
}

func (l live) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	l.lists++
	into, all := list.(*argocd.ApplicationList), l.all(false)
	if len(into.Items) > 0 || into.Continue != "" {
		l.t.Error("one page is read into another")
	}
	if o := (&client.ListOptions{}).ApplyOptions(options); o.Continue != "" {
		into.Items = all[1:]
		return nil
	}
	into.Items = all[:min(1, len(all))]
	if len(all) > 1 {
		into.Continue = "more"
	}
	return nil
}

func pushedTo(name, cluster string) *fixture.ApplicationBuilder {
	return fixture.Application(name).NoAnnotation(apis.AnnotationSkipReconcile).NoAnnotation(apis.AnnotationCluster).
		Label(apis.LabelPull, "false").Spec(`{"destination":{"name":"` + cluster + `"}}`)
}

// TestWhoKeepsASecret: once it is known, it alone is asked for, as long as it does.
func TestWhoKeepsASecret(t *testing.T) {
	h := &hub{t: t, apps: []*argocd.Application{
		pushedTo("elsewhere", "b").Obj(), pushedTo("here", "a").Obj(),
		pushedTo("pulled", "a").Label(apis.LabelPull, "true").Annotation(apis.AnnotationSkipReconcile, "true").Obj(),
	}}
	r, s := &Reconciler{Client: h, Live: live{h}}, secret("s", "a", "https://a", 0, true)
	key := pusherKey{types.NamespacedName{Namespace: "argocd", Name: "fleet"}, s.Namespace}
	step := func(want string, lists int) {
		t.Helper()
		h.lists = 0
		u := &users{r: r, last: r.pushers.get(key), now: map[string]types.NamespacedName{}}
		app, isPushed, err := u.of(t.Context(), &s)
		r.pushers.set(key, u.now)
		got := ""
		if app != nil {
			got = app.Name
		}
		if err != nil || got != want || isPushed != (want != "") || h.lists != lists {
			t.Errorf("kept for %q (%t) after %d lists, want %q after %d: %v", got, isPushed, h.lists, want, lists, err)
		}
	}
	step("here", 2)
	step("here", 0)
	h.apps[1] = pushedTo("here", "b").Obj()
	step("", 2)
	h.apps[1] = pushedTo("both", "a").Label(apis.LabelPull, "true").Obj() // the hub's Argo CD deploys it as well
	step("both", 1)
	h.apps = h.apps[:1]
	step("", 1)
	if n := len(r.pushers.last); n > 0 {
		t.Errorf("%d GitOpsClusters are remembered for nothing", n)
	}
}

// TestPushersForgetsWhatIsGone: a Secret that somebody else has deleted, or that is wanted again, and a GitOpsCluster.
func TestPushersForgetsWhatIsGone(t *testing.T) {
	var p pushers
	app := types.NamespacedName{Namespace: "argocd", Name: "web"}
	one := pusherKey{types.NamespacedName{Namespace: "argocd", Name: "one"}, "argocd"}
	two := pusherKey{types.NamespacedName{Namespace: "argocd", Name: "two"}, "argocd"}
	for _, key := range []pusherKey{one, two} {
		p.set(key, map[string]types.NamespacedName{"a": app, "b": app})
	}
	p.set(one, map[string]types.NamespacedName{"b": app})
	if got := p.get(one); len(got) != 1 || len(p.get(two)) != 2 {
		t.Errorf("got %v, and %v of another", got, p.get(two))
	}
	p.set(one, nil)
	p.forget(two.owner)
	if len(p.last) > 0 {
		t.Errorf("remembered for nothing: %v", p.last)
	}
}

// TestFailureIsNotHeldUp: what has failed is tried again as such, whoever else is waited for.
func TestFailureIsNotHeldUp(t *testing.T) {
	failed := errors.New("failed")
	soonest := &outcome{}
	soonest.look(pushedAgain)
	soonest.look(time.Second)
	soonest.look(time.Hour)
	for want, o := range map[error]*outcome{nil: {}, failed: {retry: failed, after: pushedAgain}, later(time.Second): soonest} {
		if got := o.again(); !errors.Is(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

package propagation

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// objects are the objects of an API server or of a cache.
type objects struct {
	client.Reader
	works []*workv1.ManifestWork
	apps  []*argocd.Application
}

func (o objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *workv1.ManifestWork:
		for _, w := range o.works {
			if client.ObjectKeyFromObject(w) == key {
				w.DeepCopyInto(into)
				return nil
			}
		}
	case *argocd.Application:
		for _, app := range o.apps {
			if client.ObjectKeyFromObject(app) == key {
				app.DeepCopyInto(into)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (o objects) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	works, ok := into.(*workv1.ManifestWorkList)
	if !ok {
		return nil // no other work names the Application
	}
	for _, w := range o.works {
		works.Items = append(works.Items, *w)
	}
	return nil
}

// TestOwnWorkIsReadPastTheCache: before a destructive write, the owner of the own work and OwnUnwatched come from the
// API server and not from the cache.
func TestOwnWorkIsReadPastTheCache(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	other := fixture.Application("guestbook").Namespace("team-b").Annotation(apis.AnnotationAppNamespace, "apps").Obj()
	own, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := work.Render(other, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	for title, tc := range map[string]struct {
		cached, live *workv1.ManifestWork
		owner        types.NamespacedName
		unwatched    bool
	}{
		"the Application owns the work":                                 {cached: own, live: own},
		"a second Application owns the work by now":                     {cached: own, live: theirs, owner: client.ObjectKeyFromObject(other)},
		"the Application owns the work by now":                          {cached: theirs, live: own},
		"the work is not in the cache":                                  {live: own, unwatched: true},
		"the work is gone by now":                                       {cached: own},
		"a second Application owns the work, which is not in the cache": {live: theirs, owner: client.ObjectKeyFromObject(other), unwatched: true},
	} {
		t.Run(title, func(t *testing.T) {
			cache, live := objects{apps: []*argocd.Application{app, other}}, objects{apps: []*argocd.Application{app, other}}
			if tc.cached != nil {
				cache.works = append(cache.works, tc.cached)
			}
			if tc.live != nil {
				live.works = append(live.works, tc.live)
			}
			seen := &observation{cache: cache, live: live, reader: live}
			seen.App, seen.Key, seen.Own = app, client.ObjectKeyFromObject(app), tc.cached
			seen.OwnUnwatched = tc.cached != nil && !tc.unwatched // begin with the opposite value
			if err := seen.observeLiveWorks(t.Context()); err != nil {
				t.Fatal(err)
			}
			if seen.OwnOwner != tc.owner || seen.OwnUnwatched != tc.unwatched || (seen.Own == nil) != (tc.live == nil) {
				t.Errorf("it is %v's, unwatched: %t", seen.OwnOwner, seen.OwnUnwatched)
			}
		})
	}
}

// TestRequestedFactsAreReadPastTheCache: observeLive forgets the additional facts, and the next decision reads these
// facts past the cache. FactLatest and FactOthers stay known, because observeLive reads both.
func TestRequestedFactsAreReadPastTheCache(t *testing.T) {
	r := &Reconciler{Live: objects{}, Grants: &grants.Checker{}}
	seen := &observation{cache: objects{}, live: objects{}}
	seen.Known = delivery.FactLoss | delivery.FactDependencies
	if _, err := r.observeLive(t.Context(), seen); err != nil || seen.Known != delivery.FactLatest|delivery.FactOthers {
		t.Errorf("%b counts as known still: %v", seen.Known, err)
	}
}

// TestLatest: the live Application replaces the cached Application only if both have the same request. Status and
// refresh always come from the live Application.
func TestLatest(t *testing.T) {
	cached := fixture.Application("guestbook").Annotation(apis.AnnotationRefresh, "hard").Obj()
	reported := func(edit func(*argocd.Application)) *argocd.Application {
		app := cached.DeepCopy()
		app.ResourceVersion, app.Status.Health.Status = "2", "Healthy"
		edit(app)
		return app
	}
	for title, tc := range map[string]struct {
		live             *argocd.Application
		version, refresh string
		reported         bool
	}{
		"the status changed": {live: reported(func(*argocd.Application) {}), version: "2", refresh: "hard", reported: true},
		"the refresh was removed": {
			live:     reported(func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationRefresh) }),
			reported: true},
		"kubectl's annotation": {live: reported(func(a *argocd.Application) { a.Annotations[corev1.LastAppliedConfigAnnotation] = "{}" }), version: "2",
			refresh: "hard", reported: true},
		"the cluster changed": {
			live:    reported(func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "x" }),
			refresh: "hard", reported: true},
		"a new Application of the same name": {live: reported(func(a *argocd.Application) { a.UID = "other" }), refresh: "hard"},
		"the Application is gone":            {refresh: "hard"},
	} {
		t.Run(title, func(t *testing.T) {
			var live objects
			if tc.live != nil {
				live.apps = append(live.apps, tc.live)
			}
			seen := &observation{live: live}
			seen.App, seen.Key = cached, client.ObjectKeyFromObject(cached)
			if err := seen.observeLatest(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got := seen.App; got.ResourceVersion != tc.version || got.Refresh() != tc.refresh || (got.Status.Health.Status != "") != tc.reported ||
				got.Cluster() != cached.Cluster() {
				t.Errorf("got version %q, refresh %q, health %q on %q", got.ResourceVersion, got.Refresh(), got.Status.Health.Status, got.Cluster())
			}
			if outdated := tc.version == ""; seen.Outdated != outdated {
				t.Errorf("outdated: %t", seen.Outdated)
			}
			if cached.Refresh() != "hard" || cached.Status.Health.Status != "" {
				t.Error("the cache's own object was changed")
			}
		})
	}
}

// TestNeighboursThatTheCacheDoesNotShow: a work from a moment ago, still missing in the cache, keeps the target on the
// cluster.
func TestNeighboursThatTheCacheDoesNotShow(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	works := func(names ...string) (out []*workv1.ManifestWork) {
		for _, name := range names {
			w := &workv1.ManifestWork{}
			w.Namespace, w.Name = app.Cluster(), "guestbook-"+name
			out = append(out, w)
		}
		return out
	}
	key := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: app.Cluster(), Name: "guestbook-" + name}
	}
	var uncached uncachedWorks
	uncached.note(types.NamespacedName{Name: "a"}, key("00002"))
	uncached.note(types.NamespacedName{Name: "b"}, key("00003"))
	uncached.note(types.NamespacedName{Name: "b"}, types.NamespacedName{Namespace: "elsewhere", Name: "guestbook-00005"})
	uncached.note(types.NamespacedName{Name: "c"}, key("00004"))
	seen := &observation{cache: objects{works: works("00001", "00002")}}
	elsewhere, other := &workv1.ManifestWork{}, &workv1.ManifestWork{}
	elsewhere.Namespace, elsewhere.Name = "elsewhere", "guestbook-00005"
	other.Namespace, other.Name = app.Cluster(), "another-00006"
	uncached.note(types.NamespacedName{Name: "d"}, client.ObjectKeyFromObject(other))
	seen.live = objects{works: append(works("00001", "00002", "00003"), elsewhere, other)}
	seen.App = app
	if err := seen.observeNeighbours(t.Context(), uncached.on(app.Cluster())); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range seen.Neighbours {
		got = append(got, w.Namespace+"/"+w.Name)
	}
	c := app.Cluster() + "/guestbook-"
	if want := []string{c + "00001", c + "00002", c + "00003"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMadeWorks: each noted work is observed once. The cache may show the work only after the list of works.
func TestMadeWorks(t *testing.T) {
	app := fixture.Application("guestbook").UID("00001").Obj()
	made, own := &workv1.ManifestWork{}, work.Key(app)
	made.Namespace, made.Name = "cluster9", work.Name(app)
	there := objects{works: []*workv1.ManifestWork{made}}
	for name, tc := range map[string]struct {
		cache, live objects
		own         types.NamespacedName
		listed      []*workv1.ManifestWork
		noted       int
	}{
		"missing in the cache":             {live: there, own: own, noted: 1},
		"in the cache, but not listed":     {cache: there, live: there, own: own},
		"in the cache and listed":          {cache: there, live: there, own: own, listed: there.works},
		"the own work, arrived in between": {cache: there, live: there, own: client.ObjectKeyFromObject(made)},
	} {
		t.Run(name, func(t *testing.T) {
			var uncached uncachedWorks
			seen := &observation{cache: tc.cache, live: tc.live, reader: tc.cache}
			seen.Key, seen.App, seen.Others = client.ObjectKeyFromObject(app), app, tc.listed
			uncached.note(seen.Key, client.ObjectKeyFromObject(made))
			if err := seen.observeMade(t.Context(), &uncached, tc.own); err != nil {
				t.Fatal(err)
			}
			if works := seen.works(); len(works) != 1 || works[0].Name != made.Name || (seen.Own == nil) != (tc.own == own) || seen.OwnUnwatched {
				t.Errorf("observed %d works, own %v, unwatched %v", len(works), seen.Own, seen.OwnUnwatched)
			}
			if noted := uncached.of(seen.Key); len(noted) != tc.noted {
				t.Errorf("still noted: %v", noted)
			}
		})
	}
}

// TestEarlierWorksPastTheCache: the live version replaces the cached version of an earlier work, because the live
// version may ask for removal.
func TestEarlierWorksPastTheCache(t *testing.T) {
	named := func(name, version string) *workv1.ManifestWork {
		w := &workv1.ManifestWork{}
		w.Name, w.ResourceVersion = name, version
		return w
	}
	seen := &observation{live: objects{works: []*workv1.ManifestWork{named("changed", "2")}}}
	seen.Others = []*workv1.ManifestWork{named("changed", "1"), named("gone", "1")}
	before := slices.Clone(seen.Others)
	if err := seen.observeOthers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen.Others[0].ResourceVersion != "2" || seen.Others[1] != before[1] || before[0].ResourceVersion != "1" {
		t.Errorf("got %+v", seen.Others)
	}
}

package dependencies

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// apiServer has the given works, Application and Secrets, and a ManagedCluster of every name. The lists are counted.
type apiServer struct {
	works   []*workv1.ManifestWork
	app     *argocd.Application
	secrets []metav1.PartialObjectMetadata
	lists   int
}

func (s *apiServer) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch obj := obj.(type) {
	case *workv1.ManifestWork:
		for _, w := range s.works {
			if client.ObjectKeyFromObject(w) == key {
				w.DeepCopyInto(obj)
				return nil
			}
		}
	case *argocd.Application:
		if s.app != nil && client.ObjectKeyFromObject(s.app) == key {
			s.app.DeepCopyInto(obj)
			return nil
		}
	case *clusterv1.ManagedCluster:
		obj.Name = key.Name
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (s *apiServer) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.lists++
	switch list := list.(type) {
	case *workv1.ManifestWorkList:
		for _, w := range s.works {
			list.Items = append(list.Items, *w)
		}
	case *metav1.PartialObjectMetadataList:
		list.Items = s.secrets
	}
	return nil
}

func workWith(key types.NamespacedName, uid string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name, w.UID, w.ResourceVersion = key.Namespace, key.Name, types.UID(uid), "7"
	w.Spec.DeleteOption = nil
	return w
}

// TestDeletionsAreDecidedPastTheCache: an outdated cache removes nothing from a cluster. For an objects work, all works
// of the cluster are read only if released Applications may use the objects. Many objects works may end at the same
// time.
func TestDeletionsAreDecidedPastTheCache(t *testing.T) {
	app := fixture.Application("web").Spec(`{"project":"web","source":{"repoURL":"https://git.example.com/web.git"}}`).
		Annotation(apis.AnnotationWith, "secret/db").Obj()
	own, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	objects := workWith(dependency.ObjectsKey(work.Key(app)), "uid")
	again := workWith(dependency.ObjectsKey(work.Key(app)), "another")
	credential := workWith(dependency.CredentialKey("cluster1", "git"), "uid")
	released := objects.DeepCopy()
	dependency.Release(released, []types.NamespacedName{{Namespace: "argocd", Name: "other"}})
	released.Generation = 1
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "git", Annotations: map[string]string{apis.AnnotationPropagate: "true"}}}
	there := metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
	known := dependency.Credentials{{Secret: "git", URL: "https://git.example.com/web"}}
	user := func(s *observation) { s.Users = []dependency.User{{App: app, Permitted: true}} }
	hasSecret := func(s *observation) { s.Secret, s.Credentials = &secret, known }
	for title, tc := range map[string]struct {
		work    *workv1.ManifestWork
		cached  func(*observation)
		live    apiServer
		deletes bool
		agreed  bool
		lists   int
	}{
		"objects of nobody": {
			work: objects,
			live: apiServer{works: []*workv1.ManifestWork{objects}}, deletes: true, agreed: true},
		"objects beside a work": {work: objects, live: apiServer{works: []*workv1.ManifestWork{objects, own}}, agreed: true},
		"objects of one that is sent": {
			work: objects, cached: user,
			live: apiServer{works: []*workv1.ManifestWork{objects, own}, app: app}},
		"objects of one that is not sent": {
			work: objects, cached: user,
			live: apiServer{works: []*workv1.ManifestWork{objects}, app: app}, deletes: true, agreed: true},
		"objects of one that is gone": {
			work: objects, cached: user,
			live: apiServer{works: []*workv1.ManifestWork{objects}}, deletes: true, agreed: true},
		"objects of one that was made again": {
			work: objects, cached: user,
			live: apiServer{works: []*workv1.ManifestWork{objects}, app: fixture.Application("web").UID("2").Obj()}},
		"objects that were made again": {work: objects, live: apiServer{works: []*workv1.ManifestWork{again}}},
		"objects that are gone":        {work: objects},
		"objects of one that was released": {
			work: released,
			live: apiServer{works: []*workv1.ManifestWork{released}}, agreed: true, lists: 1},
		"a credential that nobody uses": {
			work: credential, cached: hasSecret,
			live: apiServer{works: []*workv1.ManifestWork{credential}, secrets: []metav1.PartialObjectMetadata{there}}, deletes: true, agreed: true, lists: 2},
		"a credential in use": {
			work: credential, cached: hasSecret,
			live: apiServer{works: []*workv1.ManifestWork{credential, own}, secrets: []metav1.PartialObjectMetadata{there}}, agreed: true, lists: 2},
		"a credential whose Secret is missing": {
			work: credential,
			live: apiServer{works: []*workv1.ManifestWork{credential}}, deletes: true, agreed: true, lists: 2},
		"one whose Secret is there after all": {
			work: credential,
			live: apiServer{works: []*workv1.ManifestWork{credential}, secrets: []metav1.PartialObjectMetadata{there}}, agreed: true, lists: 2},
		"one whose Secret is missing now": {
			work: credential, cached: hasSecret, live: apiServer{works: []*workv1.ManifestWork{credential}}, agreed: true, lists: 2},
	} {
		t.Run(title, func(t *testing.T) {
			r := &Reconciler{Live: &tc.live}
			seen := &observation{}
			seen.Now, seen.Key, seen.Work = time.Unix(1_700_000_000, 0), client.ObjectKeyFromObject(tc.work), tc.work
			seen.Works, seen.Cluster = []*workv1.ManifestWork{tc.work}, managedcluster.Facts{Name: "cluster1", Exists: true}
			if tc.cached != nil {
				tc.cached(seen)
			}
			if len(dependency.ReleasedTo(tc.work)) > 0 { // in the cache, the released Application has a work again
				sent, err := work.Render(fixture.Application("other").Obj(), work.Requests{})
				if err != nil {
					t.Fatal(err)
				}
				seen.Works = append(seen.Works, sent)
			}
			if seen.Secret == nil && seen.Kind() == dependency.Credential {
				r.missing.note(seen.Key, seen.Now.Add(-time.Hour))
				seen.MissingSince = seen.Now.Add(-time.Hour)
			}
			var applied *dependency.Plan
			phases := r.phases(seen)
			phases.Apply = func(_ context.Context, p *dependency.Plan) (loop.Outcome, error) {
				applied = p
				return loop.Done, nil
			}
			if _, err := phases.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			agreed := applied != nil
			if deletes := agreed && len(applied.Destroys()) > 0; deletes != tc.deletes || agreed != tc.agreed || tc.live.lists != tc.lists {
				t.Errorf("deletes: %t, agreed: %t, lists: %d; %+v", deletes, agreed, tc.live.lists, applied)
			}
		})
	}
}

// TestTheHubIsKnownByItsName: the hub is recognized by the name while the ManagedCluster is missing. Objects laid over
// the hub's originals by a work must then stay.
func TestTheHubIsKnownByItsName(t *testing.T) {
	for name, hub := range map[string]bool{"local-cluster": true, "cluster1": false} {
		seen := &observation{reader: noCluster{&apiServer{}}}
		seen.Key.Namespace = name
		if err := seen.observeCluster(t.Context()); err != nil || seen.Cluster.Hub != hub || seen.Cluster.Exists {
			t.Errorf("%s: %+v, %v", name, seen.Cluster, err)
		}
	}
}

// noCluster is an API server without ManagedClusters.
type noCluster struct{ *apiServer }

func (s noCluster) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	if _, is := obj.(*clusterv1.ManagedCluster); is {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return s.apiServer.Get(ctx, key, obj, o...)
}

package gitopscluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// scope is a part of the hub's objects: those that are watched together, and that a right can be given to.
type scope struct {
	// namespace is where they are; empty: anywhere.
	namespace string

	// name is what they are called; empty: anything.
	name string
}

// byOwner finds the cluster Secrets of a namespace that a GitOpsCluster wants.
const byOwner = "secret.gitopscluster"

// clusterSecretsIn are the cluster Secrets of the Argo CD in a namespace.
func clusterSecretsIn(namespace string) scope { return scope{namespace: namespace} }

// tokenSecretsOf are the Secrets of the ManagedServiceAccounts of that name, in the namespaces of all clusters.
func tokenSecretsOf(account string) scope { return scope{name: account} }

// configIn is the ConfigMap of that name in the namespace of an Argo CD: one for itself, since a watch goes by one name.
func configIn(namespace, name string) scope { return scope{namespace: namespace, name: name} }

// scopes holds a cache for every scope that some GitOpsCluster has needed. Which these are is known only from the
// GitOpsClusters, and no more of the hub's Secrets is to be seen: so the manager's own cache, whose limits are set at the
// start, cannot have them. What was opened stays open until the program ends, but for tokens that nobody asks for any more.
type scopes struct {
	manager ctrl.Manager
	ctl     controller.Controller

	// changed are the GitOpsClusters to look at after a change of an object in a scope.
	changed func(context.Context, scope, client.Object) []reconcile.Request

	mu     sync.Mutex
	opened map[scope]openCache
}

// openCache is a cache that is filled until end is called, after which it is read no more.
type openCache struct {
	cache.Cache
	end context.CancelFunc
}

// open is a reader of a scope, once it is filled. An error of the API server's comes back as it is.
func (s *scopes) open(ctx context.Context, which scope) (client.Reader, error) {
	c, err := s.get(ctx, which)
	if err != nil {
		return nil, err
	}
	if !filled(ctx, c, patience) {
		return nil, fmt.Errorf("what is watched in namespace %q by name %q has not been read within %s: may Towline still list it?",
			which.namespace, which.name, patience)
	}
	return c, nil
}

// patience is how long to wait for a cache before the next try: a right may be taken away between the probe and the first list.
const patience = 10 * time.Second

// filled tells whether a cache holds what it is for, at once or within that time.
func filled(ctx context.Context, c cache.Cache, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return c.WaitForCacheSync(ctx)
}

func (s *scopes) get(ctx context.Context, which scope) (cache.Cache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.opened[which]; ok {
		return c, nil
	}
	if err := s.probe(ctx, which); err != nil {
		return nil, err
	}
	c, err := s.start(ctx, which)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[scope]openCache{}
	}
	s.opened[which] = c
	return c, nil
}

// endUnasked ends the watches of tokens of accounts for which nobody asks any more. Whoever has just begun to ask is known to asked, or
// opens the scope anew.
func (s *scopes) endUnasked(asked func(account string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for which, c := range s.opened {
		if which.namespace == "" && !asked(which.name) {
			c.end()
			delete(s.opened, which)
		}
	}
}

// probe asks the API server once whether the scope may be seen: a cache would ask for ever, and never say.
func (s *scopes) probe(ctx context.Context, which scope) error {
	for object, limits := range which.objects() {
		kind, err := apiutil.GVKForObject(object, s.manager.GetScheme())
		if err != nil {
			return err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		options := &client.ListOptions{Namespace: which.namespace, LabelSelector: limits.Label, FieldSelector: limits.Field, Limit: 1}
		if err := s.manager.GetAPIReader().List(ctx, list, options); err != nil {
			return err
		}
	}
	return nil
}

func (s *scopes) start(ctx context.Context, which scope) (openCache, error) {
	objects := which.objects()
	c, err := cache.New(s.manager.GetConfig(), cache.Options{
		HTTPClient:                  s.manager.GetHTTPClient(),
		Scheme:                      s.manager.GetScheme(),
		Mapper:                      s.manager.GetRESTMapper(),
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           map[string]cache.Config{which.namespace: {}},
		ByObject:                    objects,
	})
	if err != nil {
		return openCache{}, err
	}
	if which.name == "" {
		if err := c.IndexField(ctx, &corev1.Secret{}, byOwner, ownersOf); err != nil {
			return openCache{}, err
		}
	}
	for object := range objects {
		if _, err := c.GetInformer(ctx, object); err != nil {
			return openCache{}, err
		}
		changed := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
			return s.changed(ctx, which, obj)
		})
		if err := s.ctl.Watch(source.Kind(c, object, changed, predicate.ResourceVersionChangedPredicate{})); err != nil {
			return openCache{}, err
		}
	}
	until, end := context.WithCancel(context.WithoutCancel(ctx))
	return openCache{c, end}, s.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(until, cancel)()
		return c.Start(ctx)
	}))
}

func ownersOf(obj client.Object) []string {
	var out []string
	for _, owner := range clustersecret.Owners(obj.(*corev1.Secret)) {
		out = append(out, owner.String())
	}
	return out
}

// argos are the caches of cluster Secrets that are open and filled, by namespace. A read of one that is not would wait for ever.
func (s *scopes) argos(ctx context.Context) map[string]client.Reader {
	s.mu.Lock()
	all := maps.Clone(s.opened)
	s.mu.Unlock()
	out := map[string]client.Reader{}
	for which, c := range all {
		if which.name == "" && filled(ctx, c, time.Second) {
			out[which.namespace] = c
		}
	}
	return out
}

// objects are what a scope holds: the Secrets, and in the namespace of an Argo CD what its generator needs.
func (s scope) objects() map[client.Object]cache.ByObject {
	if s.name != "" && s.namespace != "" {
		return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", s.name)}}
	}
	if s.name != "" {
		return map[client.Object]cache.ByObject{&corev1.Secret{}: {
			Label:     labels.SelectorFromSet(labels.Set{apis.LabelServiceAccount: "true"}),
			Field:     fields.OneTermEqualSelector("metadata.name", s.name),
			Transform: clustersecret.TrimToken,
		}}
	}
	config, role := clusterimport.GeneratorConfig, clusterimport.GeneratorRole
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Label:     labels.SelectorFromSet(labels.Set{apis.LabelSecretType: apis.SecretTypeCluster}),
			Field:     fields.Everything(),
			Transform: clustersecret.Trim,
		},
		&corev1.ConfigMap{}:   {Field: fields.OneTermEqualSelector("metadata.name", config)},
		&rbacv1.Role{}:        {Field: fields.OneTermEqualSelector("metadata.name", role)},
		&rbacv1.RoleBinding{}: {Field: fields.OneTermEqualSelector("metadata.name", role)},
	}
}

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

// scope is a set of objects on the hub, with one watch and one right.
type scope struct {
	// namespace is the namespace of the objects; empty for all namespaces.
	namespace string

	// name is the name of the objects; empty for all names.
	name string
}

// byOwner finds the cluster Secrets in a namespace by the GitOpsCluster that wants them.
const byOwner = "secret.gitopscluster"

// clusterSecretsIn is the scope of the cluster Secrets for the Argo CD in a namespace.
func clusterSecretsIn(namespace string) scope { return scope{namespace: namespace} }

// tokenSecretsOf is the scope of the token Secrets for ManagedServiceAccounts with the given name, in the namespaces of
// all clusters.
func tokenSecretsOf(account string) scope { return scope{name: account} }

// configIn is the scope of the named ConfigMap in the namespace of an Argo CD. Each ConfigMap needs a separate scope,
// because a watch selects by one name.
func configIn(namespace, name string) scope { return scope{namespace: namespace, name: name} }

// scopes holds a cache for every scope that some GitOpsCluster has needed. Only the GitOpsClusters say which scopes are
// needed, and Towline must not see further Secrets of the hub. The manager's own cache cannot hold the scopes, because
// its limits are set at the start. An open cache stays open until the program ends, except for tokens that no
// GitOpsCluster needs any more.
type scopes struct {
	manager ctrl.Manager
	ctl     controller.Controller

	// changed returns the GitOpsClusters to reconcile after a change of an object in a scope.
	changed func(context.Context, scope, client.Object) []reconcile.Request

	mu     sync.Mutex
	opened map[scope]openCache
}

// openCache is a cache that is filled until the call of end. Do not read an ended cache.
type openCache struct {
	cache.Cache
	end context.CancelFunc
}

// open returns a reader of a scope after the cache is filled. Errors of the API server are returned unchanged.
func (s *scopes) open(ctx context.Context, which scope) (client.Reader, error) {
	c, err := s.get(ctx, which)
	if err != nil {
		return nil, err
	}
	if !filled(ctx, c, patience) {
		return nil, fmt.Errorf("the Secrets or ConfigMaps of namespace %q with name %q have not been read within %s: may Towline still list them?",
			which.namespace, which.name, patience)
	}
	return c, nil
}

// patience is the wait for a cache before the next try: a right may disappear between the probe and the first list.
const patience = 10 * time.Second

// filled reports whether a cache is filled now or within the given time.
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

// endUnasked ends the watches of tokens for accounts that no GitOpsCluster needs any more. A new GitOpsCluster for the
// account is known to asked, or opens the scope again.
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

// probe asks the API server once whether Towline may read the scope. A cache would repeat a forbidden list for ever,
// without an error.
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

// argos returns the open and filled caches of cluster Secrets, by namespace. A read of an unfilled cache would wait for
// ever.
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

// objects returns the kinds of a scope: Secrets, and in the namespace of an Argo CD the generator's objects.
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

package dependencies

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
)

// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps,resourceNames=argocd-tls-certs-cm;argocd-gpg-keys-cm;argocd-ssh-known-hosts-cm,verbs=list;watch

// trust reads the ConfigMaps with the trusted certificates and keys of the hub's Argo CD. Each ConfigMap has a separate
// cache: a cache selects one name, and Towline has no right to read further ConfigMaps of the namespace.
type trust struct {
	namespace string
	caches    map[string]cache.Cache
}

// newTrust creates the caches, and adds them to the manager, to be filled on every replica.
func newTrust(mgr ctrl.Manager, namespace string) (*trust, error) {
	out := &trust{namespace: namespace, caches: map[string]cache.Cache{}}
	for _, name := range []string{dependency.CertificatesConfigMap, dependency.KeysConfigMap, dependency.HostKeysConfigMap} {
		one, err := cache.New(mgr.GetConfig(), cache.Options{
			Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Field: named(namespace, name)}},
		})
		if err != nil {
			return nil, err
		}
		err = errors.Join(informer.OnEveryReplica(one, &corev1.ConfigMap{}),
			informer.AddCache(mgr, name, one, "the ConfigMap "+name+" has not been read yet: may this ServiceAccount list ConfigMaps?"))
		if err != nil {
			return nil, err
		}
		out.caches[name] = one
	}
	return out, nil
}

// named selects one object of a namespace.
func named(namespace, name string) fields.Selector {
	return fields.AndSelectors(
		fields.OneTermEqualSelector("metadata.namespace", namespace), fields.OneTermEqualSelector("metadata.name", name))
}

// watch returns a source of the works to reconcile after a change of a ConfigMap.
func (t *trust) watch(name string, whom handler.MapFunc) source.Source {
	return source.Kind(t.caches[name], client.Object(&corev1.ConfigMap{}), handler.EnqueueRequestsFromMapFunc(whom), trustChanged())
}

func trustChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !dependency.SameTrust(e.ObjectOld.(*corev1.ConfigMap), e.ObjectNew.(*corev1.ConfigMap))
	}}
}

// ofTrust returns a function that returns the present and the needed works of a kind.
func (r *Reconciler) ofTrust(of dependency.Kind) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		r.scopes.forget()
		known, err := r.credentials(ctx)
		apps := &argocd.ApplicationList{}
		if err = errors.Join(err, r.List(ctx, apps, client.UnsafeDisableDeepCopy)); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "The Applications cannot be listed from the cache")
		}
		all := r.everything(ctx, nil)
		for i := range apps.Items {
			if app := &apps.Items[i]; app.Cluster() != "" {
				all = append(all, loop.Requests(known.Keys(app.Cluster(), dependency.ReadSpec(app)))...)
			}
		}
		return slices.DeleteFunc(all, func(req reconcile.Request) bool {
			kind, _ := dependency.KindOf(req.Name)
			return kind != of
		})
	}
}

// ofKeys returns the works of the AppProjects with public keys, and the objects works of the Applications, because an
// objects work shows a missing key.
func (r *Reconciler) ofKeys(ctx context.Context, _ client.Object) []reconcile.Request {
	projects := &argocd.AppProjectList{}
	if err := r.List(ctx, projects, client.InNamespace(r.Options.ArgoCDNamespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The AppProjects cannot be listed from the cache")
	}
	var out []reconcile.Request
	for i := range projects.Items {
		if len(dependency.SignatureKeys(&projects.Items[i])) > 0 {
			out = append(out, r.ofProject(ctx, &projects.Items[i])...)
		}
	}
	return out
}

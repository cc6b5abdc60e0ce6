package dependencies

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// secretHandler wakes what depends on a Secret of the hub's Argo CD. A rotation, which changes nothing but the
// credential, wakes the works that carry it and nothing else.
func (r *Reconciler) secretHandler() handler.Funcs {
	enqueue := func(q queue, all []reconcile.Request) {
		for _, request := range all {
			q.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(q, r.ofSecret(ctx, e.Object)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(q, r.ofSecret(ctx, e.Object)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*corev1.Secret), e.ObjectNew.(*corev1.Secret)
			if dependency.SameScope(before, after) && !dependency.LargeSecret(before) && !dependency.LargeSecret(after) {
				enqueue(q, wake.Requests(worksOf(ctx, r.Client, after.Name)))
				return
			}
			enqueue(q, slices.Concat(r.ofSecret(ctx, before), r.ofSecret(ctx, after)))
		},
	}
}

// ofSecret are the works that a Secret of the hub's Argo CD may have to do with: those that carry it, and those of all
// credentials that Applications of its host may use.
func (r *Reconciler) ofSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	s := obj.(*corev1.Secret)
	r.scopes.forget()
	scope, ok := dependency.ReadScope(s)
	if !ok {
		return wake.Requests(worksOf(ctx, r.Client, s.Name))
	}
	known, err := r.credentials(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The repository Secrets cannot be listed from the cache")
	}
	keys := worksOf(ctx, r.Client, s.Name)
	value := scope.URL
	if scope.Prefix {
		value = dependency.Host(scope.URL)
	}
	for _, app := range index.Applications(ctx, r.Client, index.ByRepository, value) {
		spec := dependency.ReadSpec(app)
		keys = append(keys, known.Keys(app.Cluster(), spec)...)
		if dependency.LargeSecret(s) { // it says so
			keys = append(keys, objectsKeys([]*argocd.Application{app})...)
		}
		for _, other := range known { // one that was the best may have become second, or the other way round
			if other.Prefix == scope.Prefix && slices.ContainsFunc(spec.Repositories, other.Covers) {
				keys = append(keys, dependency.CredentialKey(app.Cluster(), other.Secret))
			}
		}
	}
	return wake.Requests(keys)
}

// worksOf are the works that carry the credential of a hub Secret. They have the same name on all clusters.
func worksOf(ctx context.Context, from client.Reader, secret string) []types.NamespacedName {
	return index.Works(ctx, from, index.ByCredential, dependency.CredentialKey("", secret).Name)
}

// RepositorySecrets selects the Secrets of repositories, and of their templates, among those of an Argo CD.
func RepositorySecrets() labels.Selector {
	of, err := labels.NewRequirement(apis.LabelSecretType, selection.In, []string{apis.SecretTypeRepository, apis.SecretTypeRepoCreds})
	if err != nil {
		panic(err) // all of it is constant
	}
	return labels.NewSelector().Add(*of)
}

// watchObjects wakes the works of Applications that name an object, whenever it changes. A cache of its own holds the
// marks of all Secrets and ConfigMaps of the hub, and nothing else of them: the shared one holds Argo CD's alone.
func watchObjects(mgr ctrl.Manager, b *builder.Builder) error {
	objects, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), DefaultTransform: marksOnly,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(
		leaderless.Hold(objects, objectOf(dependency.SecretKind), objectOf(dependency.ConfigMapKind)),
		leaderless.Add(mgr, "objects", objects, "the Secrets and ConfigMaps have not been read yet: may this ServiceAccount list them?"),
	); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &argocd.Application{}, index.ByObject, namedBy); err != nil {
		return err
	}
	for _, kind := range []dependency.ObjectKind{dependency.SecretKind, dependency.ConfigMapKind} {
		var watched client.Object = objectOf(kind)
		b.WatchesRawSource(source.Kind(objects, watched, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, obj client.Object) []reconcile.Request {
				return wake.Requests(objectsKeys(index.Applications(ctx, mgr.GetClient(), index.ByObject, reference(obj, kind))))
			})))
	}
	return nil
}

// maxMark is how many bytes are held of the annotation that tells whether an object may travel: true and false have fewer.
const maxMark = 16

// marksOnly leaves of an object what tells it from others and whether it may travel. Clusters can have rights to write some
// of a kind into their namespaces on the hub.
func marksOnly(obj any) (any, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil // a tombstone
	}
	out := &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = o.Namespace, o.Name, o.UID, o.ResourceVersion
	if mark, ok := o.Annotations[apis.AnnotationPropagate]; ok {
		out.Annotations = map[string]string{apis.AnnotationPropagate: strings.Clone(mark[:min(len(mark), maxMark)])}
	}
	return out, nil
}

// namedBy are the objects that an Application names.
func namedBy(obj client.Object) []string {
	refs, err := dependency.References(obj.GetAnnotations()[apis.AnnotationWith])
	if err != nil {
		return nil
	}
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = obj.GetNamespace() + "/" + ref.String()
	}
	return out
}

// objectsKeys are the works of what these Applications name.
func objectsKeys(apps []*argocd.Application) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, app := range apps {
		if app.Cluster() != "" {
			keys = append(keys, dependency.ObjectsKey(work.Key(app)))
		}
	}
	return keys
}

// objectOf is the metadata of a Secret or ConfigMap that is watched.
func objectOf(kind dependency.ObjectKind) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}}
}

// reference is how an Application of its namespace names an object.
func reference(obj client.Object, kind dependency.ObjectKind) string {
	return obj.GetNamespace() + "/" + strings.ToLower(string(kind)) + "/" + obj.GetName()
}

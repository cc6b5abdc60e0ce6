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
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// secretHandler queues the works after a change of a Secret of the hub's Argo CD. A rotation changes only the
// credential, and queues only the works with the Secret.
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
				enqueue(q, loop.Requests(worksOf(ctx, r.Client, after.Name)))
				return
			}
			enqueue(q, slices.Concat(r.ofSecret(ctx, before), r.ofSecret(ctx, after)))
		},
	}
}

// ofSecret returns the works for a Secret of the hub's Argo CD: the works with the Secret, and the works of all
// credentials that Applications of the same host may use.
func (r *Reconciler) ofSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	s := obj.(*corev1.Secret)
	r.scopes.forget()
	scope, ok := dependency.ReadScope(s)
	if !ok {
		return loop.Requests(worksOf(ctx, r.Client, s.Name))
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
		if dependency.LargeSecret(s) { // the objects works show a large Secret
			keys = append(keys, objectsKeys([]*argocd.Application{app})...)
		}
		for _, other := range known { // the best credential may have changed
			if other.Prefix == scope.Prefix && slices.ContainsFunc(spec.Repositories, other.Covers) {
				keys = append(keys, dependency.CredentialKey(app.Cluster(), other.Secret))
			}
		}
	}
	return loop.Requests(keys)
}

// worksOf returns the works with the credential of a hub Secret. The works have the same name on all clusters.
func worksOf(ctx context.Context, from client.Reader, secret string) []types.NamespacedName {
	return index.Works(ctx, from, index.ByCredential, dependency.CredentialKey("", secret).Name)
}

// RepositorySecrets selects the Secrets of an Argo CD for repositories and for credential templates.
func RepositorySecrets() labels.Selector {
	of, err := labels.NewRequirement(apis.LabelSecretType, selection.In, []string{apis.SecretTypeRepository, apis.SecretTypeRepoCreds})
	if err != nil {
		panic(err) // the arguments are constants
	}
	return labels.NewSelector().Add(*of)
}

// watchObjects queues the works of Applications after a change of a named object. A separate cache holds only the marks
// of all Secrets and ConfigMaps on the hub. The shared cache has only the Secrets of Argo CD.
func watchObjects(mgr ctrl.Manager, b *builder.Builder) error {
	objects, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), DefaultTransform: marksOnly,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(
		informer.OnEveryReplica(objects, objectOf(dependency.SecretKind), objectOf(dependency.ConfigMapKind)),
		informer.AddCache(mgr, "objects", objects, "the Secrets and ConfigMaps have not been read yet: may this ServiceAccount list them?"),
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
				return loop.Requests(objectsKeys(index.Applications(ctx, mgr.GetClient(), index.ByObject, reference(obj, kind))))
			})))
	}
	return nil
}

// maxMark is the number of cached bytes of the annotation for the delivery of an object. The values true and false are
// shorter.
const maxMark = 16

// marksOnly reduces an object to its identity and the mark. A cluster may have the right to write Secrets or ConfigMaps
// into a namespace on the hub.
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

// namedBy returns the objects named by an Application.
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

// objectsKeys returns the objects works of the given Applications.
func objectsKeys(apps []*argocd.Application) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, app := range apps {
		if app.Cluster() != "" {
			keys = append(keys, dependency.ObjectsKey(work.Key(app)))
		}
	}
	return keys
}

// objectOf returns the metadata object for a watch of Secrets or ConfigMaps.
func objectOf(kind dependency.ObjectKind) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}}
}

// reference returns the index value for an object, as named by an Application in the same namespace.
func reference(obj client.Object, kind dependency.ObjectKind) string {
	return obj.GetNamespace() + "/" + strings.ToLower(string(kind)) + "/" + obj.GetName()
}

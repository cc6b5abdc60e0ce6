package settings

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// ClusterNamespace returns an empty Namespace object for reading. Only the metadata of Namespaces is kept. The
// annotations of a cluster's namespace on the hub are the settings of the hub's administrators for the cluster. The
// cluster's agent may write its whole ManagedCluster (Open Cluster Management 1.2), but not the namespace.
func ClusterNamespace() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// ReadCluster returns the namespace of the named cluster, or nil if the namespace does not exist. A namespace from a
// cache is shared with the cache: the caller must not change the namespace.
func ReadCluster(ctx context.Context, from client.Reader, cluster string) (*metav1.PartialObjectMetadata, error) {
	return hub.Get(ctx, from, types.NamespacedName{Name: cluster}, ClusterNamespace())
}

// ClusterAnnotations returns the annotations of the cluster's namespace, or nil if the namespace does not exist.
func ClusterAnnotations(ctx context.Context, from client.Reader, cluster string) (map[string]string, error) {
	ns, err := ReadCluster(ctx, from, cluster)
	if ns == nil || err != nil {
		return nil, err
	}
	return ns.Annotations, nil
}

// ClusterFactsChanged passes changes of a namespace that change the facts about its cluster, also a creation or
// deletion.
func ClusterFactsChanged() predicate.Predicate {
	of := func(obj client.Object) *metav1.PartialObjectMetadata { return obj.(*metav1.PartialObjectMetadata) }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return managedcluster.NamespaceChanged(nil, of(e.Object)) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return managedcluster.NamespaceChanged(of(e.ObjectOld), of(e.ObjectNew))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return managedcluster.NamespaceChanged(of(e.Object), nil) },
	}
}

// KeysChanged passes events that add, change or remove an annotation or label with a given key, also by a creation or
// deletion of the namespace.
func KeysChanged(keys ...string) predicate.Predicate {
	differ := func(before, after client.Object) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return before.GetAnnotations()[key] != after.GetAnnotations()[key] || before.GetLabels()[key] != after.GetLabels()[key]
		})
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return differ(ClusterNamespace(), e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return differ(e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return differ(e.Object, ClusterNamespace()) },
	}
}

// Package hubside reads what the hub's administrators say of a managed cluster: annotations of its namespace on the hub. The
// cluster's agent may write the whole of its ManagedCluster (Open Cluster Management 1.2), and nothing of that namespace.
package hubside

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/fetch"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Namespace is a Namespace to read: its metadata is all that is kept of one.
func Namespace() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// Read is the namespace of the cluster of that name; nil where it has none. It is the cache's own where the reader is one: not to
// be changed.
func Read(ctx context.Context, from client.Reader, cluster string) (*metav1.PartialObjectMetadata, error) {
	return fetch.Get(ctx, from, types.NamespacedName{Name: cluster}, Namespace())
}

// Annotations are those of that namespace; none where there is no namespace.
func Annotations(ctx context.Context, from client.Reader, cluster string) (map[string]string, error) {
	ns, err := Read(ctx, from, cluster)
	if ns == nil || err != nil {
		return nil, err
	}
	return ns.Annotations, nil
}

// FactsChanged lets through what changes the facts about a cluster, be it that its namespace comes or goes.
func FactsChanged() predicate.Predicate {
	of := func(obj client.Object) *metav1.PartialObjectMetadata { return obj.(*metav1.PartialObjectMetadata) }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return managedcluster.NamespaceChanged(nil, of(e.Object)) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return managedcluster.NamespaceChanged(of(e.ObjectOld), of(e.ObjectNew))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return managedcluster.NamespaceChanged(of(e.Object), nil) },
	}
}

// Changed lets through that an annotation or label of one of these keys comes, changes or goes, with its namespace too.
func Changed(keys ...string) predicate.Predicate {
	differ := func(before, after client.Object) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return before.GetAnnotations()[key] != after.GetAnnotations()[key] || before.GetLabels()[key] != after.GetLabels()[key]
		})
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return differ(Namespace(), e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return differ(e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return differ(e.Object, Namespace()) },
	}
}

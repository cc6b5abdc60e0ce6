package agent

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// AddToScheme registers every type that the agent reads.
func AddToScheme(s *runtime.Scheme) error {
	return errors.Join(argocd.AddToScheme(s), corev1.AddToScheme(s))
}

// ClusterCache limits the cache of the managed cluster to the Applications from the hub, in the given namespaces, and
// to the fields in a report. An empty list means all namespaces.
func ClusterCache(namespaces []string) cache.Options {
	apps := cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{apis.LabelPulled: "true"}),
		Transform: trimmed,
	}
	for _, ns := range namespaces {
		if apps.Namespaces == nil {
			apps.Namespaces = map[string]cache.Config{}
		}
		apps.Namespaces[ns] = cache.Config{}
	}
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject:                    map[client.Object]cache.ByObject{&argocd.Application{}: apps},
	}
}

// trimmed drops the fields of an Application that no report contains.
func trimmed(obj any) (any, error) {
	app, ok := obj.(*argocd.Application)
	if !ok {
		return obj, nil
	}
	annotations := map[string]string{apis.AnnotationWork: app.Annotations[apis.AnnotationWork]}
	if asked, ok := app.Annotations[apis.AnnotationRefresh]; ok {
		annotations[apis.AnnotationRefresh] = asked // for managed resources
	}
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: app.Name, UID: app.UID, ResourceVersion: app.ResourceVersion,
			CreationTimestamp: app.CreationTimestamp, DeletionTimestamp: app.DeletionTimestamp, OwnerReferences: app.OwnerReferences,
			Annotations: annotations,
		},
		Status: app.Status,
	}, nil
}

// NewHub returns a connection to the hub, with a cache of the metadata of the reports in the cluster's namespace.
// NewHub sends no request before the connection is started. After the start, requests are repeated until the hub
// answers: the hub may be unreachable when the agent starts.
func NewHub(config *rest.Config, scheme *runtime.Scheme, namespace string) (cluster.Cluster, error) {
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(reportKind, meta.RESTScopeNamespace)
	return cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return kinds, nil }
		o.Cache = cache.Options{
			ReaderFailOnMissingInformer: true,
			DefaultTransform:            cache.TransformStripManagedFields(),
			DefaultNamespaces:           map[string]cache.Config{namespace: {}},
		}
	})
}

package controllers

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/dependencies"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// AddToScheme registers all types of the controllers' reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme, argocd.AddToScheme, workv1.Install,
		v1alpha1.AddToScheme, v1beta1.AddToScheme,
		clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install)
	return builder.AddToScheme(s)
}

// Cache limits the shared cache to the objects of interest to the controllers. A hub may have a hundred times more
// Applications and works than Towline manages. A type without an entry here is cached completely as soon as a
// controller watches the type. A read of an unwatched type is an error. ApplicationReports have a separate cache: see
// resourcesync.NewAgent. argocdNamespace is the namespace of the AppProjects, the settings of Argo CD, and the Secrets.
// Of the Secrets, the cache holds only the Secrets for repositories. homes are the AppNamespaces of Options.
func Cache(argocdNamespace string, homes settings.Namespaces) cache.Options {
	exists, err := labels.NewRequirement(apis.LabelPull, selection.Exists, nil)
	if err != nil {
		panic(err) // the key is a constant
	}
	// The selector is a field selector, because a cache by namespaces requests the scope of the type at every read.
	ofArgoCD := fields.OneTermEqualSelector("metadata.namespace", argocdNamespace)
	pulled := labels.NewSelector().Add(*exists)
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		NewInformer:                 informer.New,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&argocd.Application{}:       {Label: pulled, Transform: homes.Transform(trim.Application)},
			&argocd.AppProject{}:        {Field: ofArgoCD},
			&workv1.ManifestWork{}:      {Label: pulled, Transform: trim.Work},
			&clusterv1.ManagedCluster{}: {Transform: trim.Cluster},
			&corev1.Namespace{}:         {Transform: trim.Namespace},
			&corev1.Secret{}:            {Field: ofArgoCD, Label: dependencies.RepositorySecrets()},
			&corev1.ConfigMap{}:         settings.TrackingCache(argocdNamespace),
		},
	}
}

// Config returns the connection settings for a manager with a Cache of this package. The cache measures the size of the
// answers. Compression is disabled: it would cost both sides CPU, and the API server is near.
func Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	config.Wrap(informer.Counted)
	return config
}

// NewClient is a client.NewClientFunc for a manager with a Cache of this package. The client does not copy the objects
// of an index lookup.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	return index.NewClient(config, options)
}

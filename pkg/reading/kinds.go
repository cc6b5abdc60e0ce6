package reading

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/source"
)

// addOns is the API group of OCM's add-ons.
var addOns = schema.GroupVersion{Group: "addon.open-cluster-management.io", Version: "v1alpha1"}

// Scheme returns the scheme with all kinds to read.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, coordinationv1.AddToScheme, argocd.AddToScheme, v1alpha1.AddToScheme,
		clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install, workv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Mapper returns the mapping from kinds to resources.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(scope meta.RESTScope, gv schema.GroupVersion, kinds ...string) {
		for _, kind := range kinds {
			m.Add(gv.WithKind(kind), scope)
			m.Add(gv.WithKind(kind+"List"), scope) // a cache asks for the list kind
		}
	}
	add(meta.RESTScopeRoot, corev1.SchemeGroupVersion, "Namespace")
	add(meta.RESTScopeNamespace, corev1.SchemeGroupVersion, "Secret", "ConfigMap", "Event")
	add(meta.RESTScopeNamespace, appsv1.SchemeGroupVersion, "Deployment")
	add(meta.RESTScopeRoot, rbacv1.SchemeGroupVersion, "ClusterRole", "ClusterRoleBinding")
	add(meta.RESTScopeRoot, apiServices, "APIService")
	add(meta.RESTScopeNamespace, coordinationv1.SchemeGroupVersion, "Lease")
	add(meta.RESTScopeNamespace, argocd.GroupVersion, "Application", "ApplicationSet", "AppProject")
	add(meta.RESTScopeNamespace, v1alpha1.GroupVersion, "MulticlusterApplicationSetReport", "ApplicationReport")
	add(meta.RESTScopeNamespace, addOns, "ManagedClusterAddOn")
	add(meta.RESTScopeRoot, addOns, "AddOnTemplate")
	repositories := source.GroupVersion.WithResource(source.Resource)
	m.AddSpecific(source.GroupVersion.WithKind(source.Kind), repositories, repositories, meta.RESTScopeNamespace)
	managed := source.GroupVersion.WithResource(managedresources.Resource)
	m.AddSpecific(source.GroupVersion.WithKind(managedresources.Kind), managed, managed, meta.RESTScopeNamespace)
	add(meta.RESTScopeRoot, schema.GroupVersion(clusterv1.GroupVersion), "ManagedCluster")
	add(meta.RESTScopeRoot, schema.GroupVersion(clusterv1beta2.GroupVersion), "ManagedClusterSet")
	add(meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta2.GroupVersion), "ManagedClusterSetBinding")
	add(meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta1.GroupVersion), "PlacementDecision", "Placement")
	add(meta.RESTScopeNamespace, schema.GroupVersion(workv1.GroupVersion), "ManifestWork")
	return m
}

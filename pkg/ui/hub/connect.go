package hub

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// addOns is the group of OCM's add-ons, of which only the one of Towline's agent is looked at.
var addOns = schema.GroupVersion{Group: "addon.open-cluster-management.io", Version: "v1alpha1"}

// newScheme has the kinds that are read.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, argocd.AddToScheme, v1alpha1.AddToScheme,
		clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install, workv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// newMapper knows where the kinds are, so that nobody has to be asked, who may not be allowed to tell.
func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range []struct {
		scope meta.RESTScope
		gv    schema.GroupVersion
		kinds []string
	}{
		{meta.RESTScopeRoot, corev1.SchemeGroupVersion, []string{"Namespace"}},
		{meta.RESTScopeNamespace, corev1.SchemeGroupVersion, []string{"Secret", "ConfigMap", "Event"}},
		{meta.RESTScopeNamespace, appsv1.SchemeGroupVersion, []string{"Deployment"}},
		{meta.RESTScopeNamespace, coordinationv1.SchemeGroupVersion, []string{"Lease"}},
		{meta.RESTScopeNamespace, argocd.GroupVersion, []string{"Application", "ApplicationSet", "AppProject"}},
		{meta.RESTScopeNamespace, v1alpha1.GroupVersion, []string{"MulticlusterApplicationSetReport", "ApplicationReport"}},
		{meta.RESTScopeNamespace, addOns, []string{"ManagedClusterAddOn"}},
		{meta.RESTScopeRoot, schema.GroupVersion(clusterv1.GroupVersion), []string{"ManagedCluster"}},
		{meta.RESTScopeRoot, schema.GroupVersion(clusterv1beta2.GroupVersion), []string{"ManagedClusterSet"}},
		{meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta2.GroupVersion), []string{"ManagedClusterSetBinding"}},
		{meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta1.GroupVersion), []string{"PlacementDecision", "Placement"}},
		{meta.RESTScopeNamespace, schema.GroupVersion(workv1.GroupVersion), []string{"ManifestWork"}},
	} {
		for _, kind := range k.kinds {
			m.Add(k.gv.WithKind(kind), k.scope)
		}
	}
	return m
}

// connect is a client with the identity of a config.
func connect(config *rest.Config) (client.WithWatch, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: newMapper()})
}

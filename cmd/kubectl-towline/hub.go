package main

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// hub reads the hub, and notes what its user may not read.
type hub struct {
	client.Client

	// unread are the reads that were refused; mu is held by whoever notes one, as several may wait at the same time.
	mu     sync.Mutex
	unread []string

	// read are the objects that were read, where a command looks once; nil where it looks again.
	read map[string]client.Object
}

// connect is a client for the hub of the kubeconfig. It asks for no discovery: it knows the kinds that it reads.
func (o *options) connect() (*hub, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = cmp.Or(o.qps, 50), 100
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: newMapper()})
	return &hub{Client: c}, err
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, argocd.AddToScheme, v1alpha1.AddToScheme,
		coordinationv1.AddToScheme, clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install, workv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// newMapper knows the kinds that are read.
func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(scope meta.RESTScope, gv schema.GroupVersion, kinds ...string) {
		for _, kind := range kinds {
			m.Add(gv.WithKind(kind), scope)
			m.Add(gv.WithKind(kind+"List"), scope) // as a cache asks for it
		}
	}
	add(meta.RESTScopeRoot, corev1.SchemeGroupVersion, "Namespace")
	add(meta.RESTScopeNamespace, corev1.SchemeGroupVersion, "Secret", "ConfigMap", "Event")
	add(meta.RESTScopeNamespace, appsv1.SchemeGroupVersion, "Deployment")
	add(meta.RESTScopeNamespace, argocd.GroupVersion, "Application", "ApplicationSet", "AppProject")
	add(meta.RESTScopeNamespace, coordinationv1.SchemeGroupVersion, "Lease")
	add(meta.RESTScopeNamespace, v1alpha1.GroupVersion, "MulticlusterApplicationSetReport", "ApplicationReport")
	add(meta.RESTScopeRoot, schema.GroupVersion(clusterv1.GroupVersion), "ManagedCluster")
	add(meta.RESTScopeRoot, schema.GroupVersion(clusterv1beta2.GroupVersion), "ManagedClusterSet")
	add(meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta2.GroupVersion), "ManagedClusterSetBinding")
	add(meta.RESTScopeNamespace, schema.GroupVersion(clusterv1beta1.GroupVersion), "PlacementDecision", "Placement")
	add(meta.RESTScopeNamespace, schema.GroupVersion(workv1.GroupVersion), "ManifestWork")
	return m
}

// Get implements client.Reader.
func (h *hub) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	name := fmt.Sprintf("%T %s %s", obj, obj.GetObjectKind().GroupVersionKind(), key)
	if known := h.read[name]; known != nil {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	err := h.note("get", obj, key.Namespace, h.Client.Get(ctx, key, obj, opts...))
	if known, ok := obj.DeepCopyObject().(client.Object); ok && err == nil && h.read != nil {
		h.read[name] = known
	}
	return err
}

// List implements client.Reader. A kind that the hub does not serve has no objects.
func (h *hub) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	return client.IgnoreNotFound(h.note("list", list, o.Namespace, h.Client.List(ctx, list, opts...)))
}

// note notes what may not be read.
func (h *hub) note(verb string, obj runtime.Object, namespace string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	kind := "objects"
	if gvk, e := apiutil.GVKForObject(obj, h.Scheme()); e == nil {
		if m, e := h.RESTMapper().RESTMapping(schema.GroupKind{Group: gvk.Group, Kind: trimList(gvk.Kind)}, gvk.Version); e == nil {
			kind = m.Resource.GroupResource().String()
		}
	}
	line := fmt.Sprintf("%s %s", verb, kind)
	if namespace != "" {
		line += " in namespace " + namespace
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.unread, line) {
		h.unread = append(h.unread, line)
	}
	return err
}

func trimList(kind string) string {
	if n := len(kind) - len("List"); n > 0 && kind[n:] == "List" {
		return kind[:n]
	}
	return kind
}

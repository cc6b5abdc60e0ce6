package faults

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/e2e/fleet"
)

// Kinds of the observed objects.
var (
	applications = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	sets         = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "ApplicationSet"}
	projects     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}
	works        = schema.GroupVersionKind{Group: "work.open-cluster-management.io", Version: "v1", Kind: "ManifestWork"}
	reports      = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "MulticlusterApplicationSetReport"}
	appReports   = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "ApplicationReport"}
	deployments  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	workloads    = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// byPoint is an index by the point in an object's name.
const byPoint = "point"

// A plane is the hub or a cluster. All objects of a point are read from a cache, because many points read all the time.
type plane struct {
	name    string
	kinds   []schema.GroupVersionKind
	manager manager.Manager
	client.Client
}

// A World is a fleet with caches for the points, and with a played Argo CD on each cluster whose real Argo CD is
// stopped.
type World struct {
	Fleet    *fleet.Fleet
	hub      *plane
	admin    client.Client
	clusters map[string]*plane
	argo     map[string]*Argo

	// news counts the events of each point's objects.
	news *news
}

// NewWorld reads a fleet until ctx ends. On each cluster, Argo replaces the real Argo CD, except for the clusters in
// keep.
func NewWorld(ctx context.Context, f *fleet.Fleet, keep ...string) (*World, error) {
	w := &World{Fleet: f, clusters: map[string]*plane{}, argo: map[string]*Argo{}, news: &news{count: map[string]int{}}}
	var err error
	if w.hub, err = newPlane(ctx, &f.Hub.ControlPlane,
		applications, works, projects, sets, reports, secrets, workloads, placements, gitOpsClusters, managedClusters, namespaces, appReports); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clusterv1.Install(scheme); err != nil {
		return nil, err
	}
	if w.admin, err = client.New(f.Hub.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if err := w.hub.start(ctx, w.news); err != nil {
		return nil, err
	}
	for _, c := range f.Clusters() {
		p, err := newPlane(ctx, &c.ControlPlane, applications, projects, workloads, secrets, appliedWorks, deployments, namespaces)
		if err != nil {
			return nil, err
		}
		w.clusters[c.Name()] = p
		if !slices.Contains(keep, c.Name()) {
			if err := c.StopProcess(ctx, "argocd"); err != nil {
				return nil, err
			}
			if w.argo[c.Name()], err = NewArgo(p.manager); err != nil {
				return nil, err
			}
		}
		if err := p.start(ctx, w.news); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func newPlane(ctx context.Context, of *fleet.ControlPlane, kinds ...schema.GroupVersionKind) (*plane, error) {
	mgr, err := ctrl.NewManager(of.RESTConfig(), ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of.Name(), err)
	}
	p := &plane{name: of.Name(), kinds: kinds, manager: mgr, Client: mgr.GetClient()}
	for _, kind := range kinds {
		if err := mgr.GetFieldIndexer().IndexField(ctx, object(kind, "", ""), byPoint, pointOf); err != nil {
			return nil, fmt.Errorf("%s: %w", of.Name(), err)
		}
	}
	return p, nil
}

// start runs the plane's caches and controllers until ctx ends, and waits for the caches. All changes are counted.
func (p *plane) start(ctx context.Context, all *news) error {
	failed := make(chan error, 1)
	go func() { failed <- p.manager.Start(ctx) }()
	select {
	case <-p.manager.Elected():
	case err := <-failed:
		return fmt.Errorf("%s: %w", p.name, err)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
	}
	if !p.manager.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("%s: its objects cannot be read: %w", p.name, context.Cause(ctx))
	}
	for _, kind := range p.kinds {
		informer, err := p.manager.GetCache().GetInformer(ctx, object(kind, "", ""))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if _, err := informer.AddEventHandler(all); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func pointOf(o client.Object) []string {
	if id := pointID.FindString(o.GetNamespace() + "/" + o.GetName()); id != "" {
		return []string{id}
	}
	return nil
}

func object(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// of returns the objects of a kind that belong to a point.
func (p *plane) of(ctx context.Context, kind schema.GroupVersionKind, id string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := p.List(ctx, list, client.MatchingFields{byPoint: id})
	return list.Items, err
}

// find returns an object, or nil if the object does not exist.
func (p *plane) find(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := object(kind, namespace, name)
	err := p.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // what is not there is no error: steps ask whether it is
	}
	return o, err
}

// patch applies a merge patch to an object.
func (p *plane) patch(ctx context.Context, o *unstructured.Unstructured, patch string) error {
	return p.Patch(ctx, object(o.GroupVersionKind(), o.GetNamespace(), o.GetName()), client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// Clear removes the objects of an earlier run from the fleet.
func (w *World) Clear(ctx context.Context) error {
	for _, p := range append(w.planes(), w.hub) {
		for _, kind := range p.kinds {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			if err := p.List(ctx, list); err != nil {
				return err
			}
			for i := range list.Items {
				for _, id := range pointOf(&list.Items[i]) {
					if _, err := p.remove(ctx, id, false); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// remove deletes all objects of a point in spite of finalizers, and returns the number of objects before the deletion.
// With forced, remove also deletes the objects that agents normally delete.
func (p *plane) remove(ctx context.Context, id string, forced bool) (left int, err error) {
	for _, kind := range p.kinds {
		objects, err := p.of(ctx, kind, id)
		if err != nil {
			return 0, err
		}
		left += len(objects)
		for i := range objects {
			o := &objects[i]
			if !forced && !removes(o) {
				continue
			}
			if err := p.drop(ctx, o); err != nil {
				return 0, err
			}
		}
	}
	return left, nil
}

// drop deletes an object without the actions of its finalizers. Works of shared clusters keep their finalizers.
func (p *plane) drop(ctx context.Context, o *unstructured.Unstructured) error {
	if len(o.GetFinalizers()) > 0 && (o.GroupVersionKind() != works || pointID.MatchString(o.GetNamespace())) {
		if err := client.IgnoreNotFound(p.patch(ctx, o, noFinalizers)); err != nil {
			return err
		}
	}
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	return client.IgnoreNotFound(p.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// removes reports whether remove deletes an object without forced. The agents of shared clusters delete their own
// records themselves.
func removes(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind() != appliedWorks || pointID.MatchString(text(o, "spec", "agentID"))
}

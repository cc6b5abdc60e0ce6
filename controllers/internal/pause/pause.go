// Package pause tells whose annotation stops Towline from writing works. The controllers that write some ask it.
package pause

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/controllers/internal/sets"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Reader reads what pauses from the cache.
type Reader struct {
	client.Reader

	sets sets.Known
}

// Direct reads by a reader that needs no watch.
func Direct(c client.Reader) *Reader {
	r := &Reader{Reader: c}
	r.sets.Serve()
	return r
}

// Watch lets ApplicationSets pause their Applications, and wakes in a controller what they are mapped to when one pauses
// or goes on. A hub may do without them, or get them later.
func (r *Reader) Watch(mgr ctrl.Manager, c controller.Controller, to handler.MapFunc) error {
	return r.sets.Watch(mgr, c, to, changed())
}

// Sets is that watch as data, from when ApplicationSets can be read.
func (r *Reader) Sets(to handler.MapFunc) wake.Watch { return r.sets.Of(to, changed()) }

// By names the object whose annotation pauses the Application; empty for none.
func (r *Reader) By(ctx context.Context, app *argocd.Application) (string, error) {
	if by, err := r.OnHub(ctx, app); by != "" || err != nil {
		return by, err
	}
	return r.ByCluster(ctx, app.Cluster())
}

// OnHub names the object of the hub's that pauses the Application wherever it is; empty for none.
func (r *Reader) OnHub(ctx context.Context, app *argocd.Application) (string, error) {
	return r.OnHubOf(ctx, r, app)
}

// OnHubOf does so as another reader has it, such as the API server past the cache.
func (r *Reader) OnHubOf(ctx context.Context, from client.Reader, app *argocd.Application) (string, error) {
	if by := argocd.PausedBy("this Application", app.Annotations); by != "" {
		return by, nil
	}
	name, ok := app.ApplicationSet()
	if !ok {
		return "", nil
	}
	set, err := r.sets.Get(ctx, from, types.NamespacedName{Namespace: app.Namespace, Name: name})
	if set == nil || err != nil {
		return "", err
	}
	return argocd.PausedBy("ApplicationSet "+app.Namespace+"/"+name, set.Annotations), nil
}

// Cluster tells whether nothing is to be written for the cluster of that name.
func (r *Reader) Cluster(ctx context.Context, name string) (bool, error) {
	by, err := r.ByCluster(ctx, name)
	return by != "", err
}

// ByCluster names the namespace of the cluster of that name if nothing is to be written for the cluster; empty otherwise.
// A pause of its ManagedCluster does not count: the cluster itself may have written it.
func (r *Reader) ByCluster(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	annotations, err := hubside.Annotations(ctx, r, name)
	return argocd.PausedBy("Namespace "+name, annotations), err
}

// changed lets through what pauses or goes on.
func changed() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetAnnotations()[apis.AnnotationPaused] != e.ObjectNew.GetAnnotations()[apis.AnnotationPaused]
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
	}
}

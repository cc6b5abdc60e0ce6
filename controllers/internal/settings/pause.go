package settings

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Pauses finds the annotation by which a user stops Towline from writing works. Pauses reads the objects with the
// annotation from the cache. All controllers with writes of works use Pauses.
type Pauses struct {
	client.Reader

	sets hub.ApplicationSets
}

// DirectPauses returns Pauses for a client that needs no watch.
func DirectPauses(c client.Reader) *Pauses {
	r := &Pauses{Reader: c}
	r.sets.Serve()
	return r
}

// Watch lets ApplicationSets pause their Applications. When an ApplicationSet pauses or resumes, Watch wakes the
// controller for the requests of to. A hub may lack ApplicationSets, or install them later.
func (r *Pauses) Watch(mgr ctrl.Manager, c controller.Controller, to handler.MapFunc) error {
	return r.sets.Watch(mgr, c, to, pauseChanged())
}

// Sets returns the watch of Watch as data. From this call on, Pauses reads ApplicationSets.
func (r *Pauses) Sets(to handler.MapFunc) loop.Watch { return r.sets.Of(to, pauseChanged()) }

// By returns the name of the object with the annotation for the Application's pause, or an empty string.
func (r *Pauses) By(ctx context.Context, app *argocd.Application) (string, error) {
	if by, err := r.OnHub(ctx, app); by != "" || err != nil {
		return by, err
	}
	return r.ByCluster(ctx, app.Cluster())
}

// OnHub returns the name of the hub object with a pause for the Application on every cluster, or an empty string.
func (r *Pauses) OnHub(ctx context.Context, app *argocd.Application) (string, error) {
	return r.OnHubOf(ctx, r, app)
}

// OnHubOf is OnHub with a different reader, for example the API server past the cache.
func (r *Pauses) OnHubOf(ctx context.Context, from client.Reader, app *argocd.Application) (string, error) {
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

// Cluster returns true if Towline must not write works for the named cluster.
func (r *Pauses) Cluster(ctx context.Context, name string) (bool, error) {
	by, err := r.ByCluster(ctx, name)
	return by != "", err
}

// ByCluster returns "Namespace <name>" if the cluster's namespace pauses writes for the cluster, or an empty string. A
// pause annotation on the ManagedCluster does not count, because the cluster itself may have written the annotation.
func (r *Pauses) ByCluster(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	annotations, err := ClusterAnnotations(ctx, r, name)
	return argocd.PausedBy("Namespace "+name, annotations), err
}

// pauseChanged passes events that start or end a pause.
func pauseChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetAnnotations()[apis.AnnotationPaused] != e.ObjectNew.GetAnnotations()[apis.AnnotationPaused]
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
	}
}

// Package pause tells whose annotation stops Towline from writing works. The controllers that write some ask it.
package pause

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch

// Reader reads what pauses from the cache.
type Reader struct {
	client.Reader

	// sets is set where the hub has ApplicationSets.
	sets atomic.Bool
}

// Kinds is what has to be served for Watch.
var Kinds = []schema.GroupVersionKind{applicationSet().GroupVersionKind()}

// Watch lets ApplicationSets pause their Applications, and wakes in a controller what they are mapped to when one pauses
// or goes on. A hub may do without them, or get them later.
func (r *Reader) Watch(mgr ctrl.Manager, c controller.Controller, to handler.MapFunc) error {
	r.sets.Store(true)
	return c.Watch(source.Kind[client.Object](mgr.GetCache(), applicationSet(), handler.EnqueueRequestsFromMapFunc(to), changed()))
}

// By names the object whose annotation pauses the Application; empty for none.
func (r *Reader) By(ctx context.Context, app *argocd.Application) (string, error) {
	if by, err := r.OnHub(ctx, app); by != "" || err != nil {
		return by, err
	}
	return r.ByCluster(ctx, app.Cluster())
}

// OnHub names the object of the hub's that pauses the Application wherever it is; empty for none.
func (r *Reader) OnHub(ctx context.Context, app *argocd.Application) (string, error) {
	if by := named("this Application", app.Annotations); by != "" {
		return by, nil
	}
	if name, ok := app.ApplicationSet(); ok && r.sets.Load() {
		set := applicationSet()
		err := r.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: name}, set)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		return named("ApplicationSet "+app.Namespace+"/"+name, set.Annotations), nil
	}
	return "", nil
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
	return named("Namespace "+name, annotations), err
}

// named is the object with those annotations if they pause, with a value that only counts as true; empty otherwise.
func named(object string, annotations map[string]string) string {
	switch {
	case !argocd.Paused(annotations):
		return ""
	case argocd.Unreadable(annotations, apis.AnnotationPaused):
		return fmt.Sprintf("%s, whose value %.80q is neither true nor false and counts as true", object, annotations[apis.AnnotationPaused])
	}
	return object
}

// applicationSet is an ApplicationSet to read: what has to be known of one is in its metadata.
func applicationSet() *metav1.PartialObjectMetadata {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return set
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

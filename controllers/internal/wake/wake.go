// Package wake describes what wakes a controller as data: a manager registers it, and a simulation delivers to it.
package wake

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Watch is a kind of object, which of its changes count, and whom they wake.
type Watch struct {
	// Object is an object of the kind.
	Object client.Object

	// Changed lets through the changes that count: all of them have to. None: all changes count.
	Changed []predicate.Predicate

	// Handler queues whom a change wakes.
	Handler handler.EventHandler
}

// Self is the watch of the objects that are worked on.
func Self(object client.Object, changed ...predicate.Predicate) Watch {
	return Watch{Object: object, Changed: changed, Handler: &handler.EnqueueRequestForObject{}}
}

// Of is the watch of objects that wake others.
func Of(object client.Object, whom handler.MapFunc, changed ...predicate.Predicate) Watch {
	return Watch{Object: object, Changed: changed, Handler: handler.EnqueueRequestsFromMapFunc(whom)}
}

// Register adds watches to a controller. The first is of the objects that it works on.
func Register(b *builder.Builder, watches []Watch) *builder.Builder {
	b.For(watches[0].Object, builder.WithPredicates(watches[0].Changed...))
	return Add(b, watches[1:])
}

// Add adds further watches to a controller.
func Add(b *builder.Builder, watches []Watch) *builder.Builder {
	for _, w := range watches {
		b.Watches(w.Object, w.Handler, builder.WithPredicates(w.Changed...))
	}
	return b
}

// Requests are those for the objects of these keys.
func Requests(keys []types.NamespacedName) []reconcile.Request {
	out := make([]reconcile.Request, len(keys))
	for i, key := range keys {
		out[i].NamespacedName = key
	}
	return out
}

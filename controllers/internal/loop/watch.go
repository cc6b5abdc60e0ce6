package loop

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Watch is a watched kind of object, with the relevant changes and the woken requests. Watches are data: a manager
// registers the watches, and a simulation delivers events to the watches.
type Watch struct {
	// Object is an object of the kind.
	Object client.Object

	// Changed are the predicates that a change must all pass. Without predicates, every change counts.
	Changed []predicate.Predicate

	// Handler queues the requests for a change.
	Handler handler.EventHandler
}

// WatchSelf returns the watch of the controller's own objects.
func WatchSelf(object client.Object, changed ...predicate.Predicate) Watch {
	return Watch{Object: object, Changed: changed, Handler: &handler.EnqueueRequestForObject{}}
}

// WatchOf returns the watch of objects whose changes wake the requests of whom.
func WatchOf(object client.Object, whom handler.MapFunc, changed ...predicate.Predicate) Watch {
	return Watch{Object: object, Changed: changed, Handler: handler.EnqueueRequestsFromMapFunc(whom)}
}

// Register adds watches to a controller. The first watch must be for the controller's own objects.
func Register(b *builder.Builder, watches []Watch) *builder.Builder {
	b.For(watches[0].Object, builder.WithPredicates(watches[0].Changed...))
	return AddWatches(b, watches[1:])
}

// AddWatches adds further watches to a controller.
func AddWatches(b *builder.Builder, watches []Watch) *builder.Builder {
	for _, w := range watches {
		b.Watches(w.Object, w.Handler, builder.WithPredicates(w.Changed...))
	}
	return b
}

// Requests returns reconcile requests for the given keys.
func Requests(keys []types.NamespacedName) []reconcile.Request {
	out := make([]reconcile.Request, len(keys))
	for i, key := range keys {
		out[i].NamespacedName = key
	}
	return out
}

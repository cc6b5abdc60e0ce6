package resourcesync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type (
	newsOf = event.TypedGenericEvent[types.NamespacedName]
	queue  = workqueue.TypedRateLimitingInterface[reconcile.Request]
)

// enqueue returns a handler that adds the requests for each Application with news.
func enqueue(request func(types.NamespacedName) []reconcile.Request) handler.TypedEventHandler[types.NamespacedName, reconcile.Request] {
	return handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e newsOf, q queue) {
			for _, r := range request(e.Object) {
				q.Add(r)
			}
		},
	}
}

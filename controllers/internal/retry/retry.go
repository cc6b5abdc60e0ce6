// Package retry says when the hub's controllers try again, so that they all do it alike.
package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Slower is when to look again at an object that changed between the cache and a write, or that cannot be written for now: at the pace
// of the queue, which becomes ever slower. The change itself is on its way through the watch, and wakes the controller unless it is one
// that does not. While an API server's watches are seconds behind, a steady pace would add many writes that fail to its load.
func Slower() reconcile.Result {
	return reconcile.Result{Requeue: true} //nolint:staticcheck // the one way to the queue's own pace without an error
}

// What failed, without an event to wait for, is tried again after this long at first and at the latest.
const (
	first = 100 * time.Millisecond
	last  = time.Minute
)

// Options work on so many objects at a time, and try what failed again ever slower.
func Options(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, last),
	}
}

// WhenLeading are those of a controller that looks at all there is when its replica begins to lead. While the replica waits,
// the controller hears of nothing: nobody would empty its queue, in which everything stays that has ever been there.
func WhenLeading(concurrency int) controller.Options {
	o := Options(concurrency)
	o.EnableWarmup = ptr.To(false)
	return o
}

// Package retry says when the hub's controllers try again, so that they all do it alike.
package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Conflict is how long to wait when an object changed between the cache and a write. The change itself is on its way
// through the watch; if it is one that does not wake the controller, this does.
const Conflict = 100 * time.Millisecond

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

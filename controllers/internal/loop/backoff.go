package loop

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Backoff requeues an object with the queue's growing delay. The object has changed between the cache and a write, or
// cannot be written for now. The watch brings the change soon and usually wakes the controller, but some changes do
// not. When an API server's watches are seconds behind, retries at a steady pace would add many failing writes to the
// server's load.
func Backoff() reconcile.Result {
	return reconcile.Result{Requeue: true} //nolint:staticcheck // the one way to the queue's own pace without an error
}

// first and last are the shortest and the longest delay before a retry without an event.
const (
	first = 100 * time.Millisecond
	last  = time.Minute
)

// Options returns controller options with the given number of parallel reconciles and a growing delay after failures.
func Options(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](first, last),
	}
}

// LeaderOptions returns the options of a controller that looks at all objects when its replica begins to lead. The
// controller gets no events while the replica waits: no worker would empty the queue, and the queue would keep every
// object ever seen.
func LeaderOptions(concurrency int) controller.Options {
	o := Options(concurrency)
	o.EnableWarmup = ptr.To(false)
	return o
}

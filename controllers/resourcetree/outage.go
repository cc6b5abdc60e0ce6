package resourcetree

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// pause is how long Redis is left alone after a failure. Then one Application after the other tries again.
const pause = 15 * time.Second

// outage is what is known of failures of Redis.
type outage struct {
	mu      sync.Mutex
	until   time.Time
	lasting bool
}

// left is how long an Application has to wait for Redis; 0 when it need not.
func (o *outage) left(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := o.until.Sub(now); left > 0 {
		return wait.Jitter(max(left, pause/2), 1) // not all at once
	}
	return 0
}

// failed notes a failure, tells of the first one, and is how long to wait.
func (o *outage) failed(ctx context.Context, now time.Time, err error) time.Duration {
	failures.Inc()
	o.mu.Lock()
	first := !o.lasting
	o.lasting, o.until = true, now.Add(pause)
	o.mu.Unlock()
	if first {
		ctrl.LoggerFrom(ctx).Error(err, "Argo CD's Redis does not answer; argocd-server on the hub may not know what Applications consist of")
	}
	return o.left(now)
}

// ended notes that Redis has answered.
func (o *outage) ended(ctx context.Context) {
	o.mu.Lock()
	was := o.lasting
	o.lasting = false
	o.mu.Unlock()
	if was {
		ctrl.LoggerFrom(ctx).Info("Argo CD's Redis answers again")
	}
}

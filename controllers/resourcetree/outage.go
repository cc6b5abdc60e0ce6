package resourcetree

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/argoredis"
)

// pause is how long Redis gets no requests after a failure. Then the Applications try again one after the other.
const pause = 15 * time.Second

// absence is the pause if no Redis is found. An administrator who sets the address sees the resources within a minute. A
// search is a few reads of single objects, for all Applications together.
const absence = 30 * time.Second

// outage is the state of the failures of Redis.
type outage struct {
	mu      sync.Mutex
	until   time.Time
	lasting bool
	none    bool // the failure is a missing Redis
}

// left returns how long an Application must wait for Redis, or 0 without an outage.
func (o *outage) left(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := o.until.Sub(now); left > 0 {
		return wait.Jitter(max(left, pause/2), 1) // spread the retries
	}
	return 0
}

// failed records a failure, logs the first failure of its kind, and returns how long to wait.
func (o *outage) failed(ctx context.Context, now time.Time, err error) time.Duration {
	wait, none := pause, errors.Is(err, argoredis.ErrNone)
	if none {
		wait = absence
	} else {
		failures.Inc()
	}
	o.mu.Lock()
	first := !o.lasting || o.none != none
	o.lasting, o.none, o.until = true, none, now.Add(wait)
	o.mu.Unlock()
	switch {
	case first && none:
		ctrl.LoggerFrom(ctx).Info("argocd-server on the hub does not know the resources of Applications", "because", err.Error())
	case first:
		ctrl.LoggerFrom(ctx).Error(err, "Argo CD's Redis cannot be used; argocd-server on the hub may not know the resources of Applications. "+
			"Where a connection times out, a NetworkPolicy may block Towline: see docs/agent.md")
	}
	return o.left(now)
}

// ended records an answer of Redis.
func (o *outage) ended(ctx context.Context) {
	o.mu.Lock()
	was, none := o.lasting, o.none
	o.lasting, o.none = false, false
	o.mu.Unlock()
	switch {
	case was && none:
		ctrl.LoggerFrom(ctx).Info("Argo CD's Redis is found")
	case was:
		ctrl.LoggerFrom(ctx).Info("Argo CD's Redis answers again")
	}
}

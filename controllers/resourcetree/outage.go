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

// pause is how long Redis is left alone after a failure. Then one Application after the other tries again.
const pause = 15 * time.Second

// absence is the same where no Redis is found: somebody has to do something about it first.
const absence = 5 * time.Minute

// outage is what is known of failures of Redis.
type outage struct {
	mu      sync.Mutex
	until   time.Time
	lasting bool
	none    bool // what lasts is that no Redis is found
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

// failed notes a failure, tells of the first one of its kind, and is how long to wait.
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
		ctrl.LoggerFrom(ctx).Info("argocd-server on the hub does not know what Applications consist of", "because", err.Error())
	case first:
		ctrl.LoggerFrom(ctx).Error(err, "Argo CD's Redis cannot be used; argocd-server on the hub may not know what Applications consist of. "+
			"Where a connection times out, a NetworkPolicy may keep Towline from it: see docs/agent.md")
	}
	return o.left(now)
}

// ended notes that Redis has answered.
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

package managed

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// The pause after a failure is doubled after each further failure, from firstPause to lastPause.
const (
	firstPause = 15 * time.Second
	lastPause  = 10 * time.Minute
)

// outage is the state of the failures of the hub, or of Redis.
type outage struct {
	// failure and recovery are the messages in the log.
	failure, recovery string

	mu    sync.Mutex
	pause time.Duration
	until time.Time
}

// left returns how long an Application must wait, or 0 without an outage. The retries of the Applications are spread.
func (o *outage) left() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := time.Until(o.until); left > 0 {
		return wait.Jitter(max(left, time.Second), 1)
	}
	return 0
}

// note logs the begin and the end of an outage, and begins a pause after a failure.
func (o *outage) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	lasting := o.pause > 0
	if err == nil {
		o.pause = 0
	} else {
		o.pause = min(max(firstPause, 2*o.pause), lastPause)
		o.until = time.Now().Add(o.pause)
	}
	o.mu.Unlock()
	switch {
	case err != nil && !lasting:
		ctrl.LoggerFrom(ctx).Error(err, o.failure)
	case err == nil && lasting:
		ctrl.LoggerFrom(ctx).Info(o.recovery)
	}
}

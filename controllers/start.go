package controllers

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// waitingGrace is how long a manager that does not lead has to end. It has nothing to finish.
const waitingGrace = time.Second

// Start runs a manager until ctx ends or something of it fails, and gives what it fails with. A manager that leads when ctx ends finishes
// what it has begun, within its own grace period, and gives up its Lease.
//
// One that does not lead by then is left as it is after a second, and the program is to end: it has written nothing. While its caches
// fill, controller-runtime (0.23 to 0.25) would wait until that is over, and need a whole core for it. It may never be over: where the hub
// cannot be reached, or the ServiceAccount may not list something.
func Start(ctx context.Context, mgr ctrl.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-mgr.Elected():
		return <-ended
	case <-time.After(waitingGrace):
		return nil
	}
}

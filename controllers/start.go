package controllers

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// waitingGrace is the time that a standby manager has to end. A standby manager has nothing to finish.
const waitingGrace = time.Second

// Start runs a manager until ctx ends or a part of the manager fails, and returns the manager's error. If ctx ends, a
// leading manager finishes the work in progress within its own grace period, and releases its Lease.
//
// Start abandons a standby manager after a second: the manager has written nothing, and the program is about to end.
// While the caches fill, controller-runtime (0.23 to 0.25) would wait for the end of the sync, and need a whole core
// for the wait. The sync may never end if the hub is unreachable, or if the ServiceAccount lacks a list permission.
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

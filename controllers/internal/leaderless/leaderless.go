// Package leaderless has what a replica that waits to lead must run as well as the one that leads, and keeps that from growing
// while nobody works on it. The controllers with a cache of their own use it, and propagation for its queue.
package leaderless

import (
	"context"
	"errors"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is a cache that a manager fills on every replica, so that the next leader can start at once. Of those that
// controller-runtime (v0.23) makes, only the manager's own and some kinds say this of themselves; the others would wait for
// the lead, and the controllers that warm up would wait for them.
type Cache struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (Cache) NeedLeaderElection() bool { return false }

// Add has a manager fill a cache on every replica. A replica is not ready before: one that leads with an empty cache does nothing until
// it is filled. name is that of the readiness check, and missing is what the check says until then.
func Add(mgr ctrl.Manager, name string, c cache.Cache, missing string) error {
	return errors.Join(mgr.Add(Cache{c}), mgr.AddReadyzCheck(name, func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New(missing)
		}
		return nil
	}))
}

// Hold lets a cache hold these kinds on every replica, before a controller of the one that leads watches them.
func Hold(c cache.Cache, kinds ...client.Object) error {
	for _, kind := range kinds {
		if _, err := c.GetInformer(context.Background(), kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

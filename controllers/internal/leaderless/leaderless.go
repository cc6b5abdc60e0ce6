// Package leaderless has what a replica that waits to lead must run as well as the one that leads, and keeps that from growing
// while nobody works on it. The controllers with a cache of their own use it, and propagation for its queue.
package leaderless

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is a cache that a manager fills on every replica, so that the next leader can start at once. Of those that
// controller-runtime (v0.23) makes, only the manager's own and some kinds say this of themselves; the others would wait for
// the lead, and the controllers that warm up would wait for them.
type Cache struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (Cache) NeedLeaderElection() bool { return false }

// Hold lets a cache hold these kinds on every replica, before a controller of the one that leads watches them.
func Hold(c cache.Cache, kinds ...client.Object) error {
	for _, kind := range kinds {
		if _, err := c.GetInformer(context.Background(), kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

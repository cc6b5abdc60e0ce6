package informer

import (
	"context"
	"errors"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// everyReplica is a cache filled by a manager on every replica. The next leader can therefore start at once. In
// controller-runtime (0.25.2), only the manager's own cache and some kinds of caches declare that they need no leader
// election. Other caches wait for the lead, and the controllers with warm-up would wait for these caches.
type everyReplica struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }

// AddCache makes a manager fill a cache on every replica. A replica is ready only with a filled cache: a leader with an
// empty cache would do nothing. name is the name of the readiness check. missing is the error of the check while the
// cache is not filled.
func AddCache(mgr ctrl.Manager, name string, c cache.Cache, missing string) error {
	return errors.Join(mgr.Add(everyReplica{c}), mgr.AddReadyzCheck(name, func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New(missing)
		}
		return nil
	}))
}

// OnEveryReplica makes a cache read the given kinds on every replica, before a controller of the leader watches the
// kinds.
func OnEveryReplica(c cache.Cache, kinds ...client.Object) error {
	for _, kind := range kinds {
		if _, err := c.GetInformer(context.Background(), kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

package controllers

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// crdInterval is the default interval of the check whether the CRDs of a controller are installed.
const crdInterval = 5 * time.Second

// whenServed calls setup as soon as the hub serves all required kinds: at once, or after the installation of their
// CRDs. interval is the time between two checks. A hub may lack the CRDs, and all other controllers work without them.
func whenServed(
	mgr ctrl.Manager, interval time.Duration, controller string, kinds []schema.GroupVersionKind, setup func() error,
) error {
	missing, err := firstMissing(mgr.GetRESTMapper(), kinds)
	if err != nil {
		return err
	}
	if missing == nil {
		return setup()
	}
	ctrl.Log.Info("The hub lacks a CRD: the controller begins when it is installed",
		"controller", controller, "kind", missing.Kind, "apiVersion", missing.GroupVersion().String())
	return mgr.Add(waiter(func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, cmp.Or(interval, crdInterval), false, func(context.Context) (bool, error) {
			missing, err := firstMissing(mgr.GetRESTMapper(), kinds)
			return missing == nil && err == nil, nil // a transient error leads to a further attempt
		})
		if err != nil {
			return nil //nolint:nilerr // the program ends
		}
		ctrl.Log.Info("The CRDs have been installed: the controller begins", "controller", controller)
		return setup()
	}))
}

// firstMissing returns the first kind that the hub does not serve, or nil if the hub serves all kinds.
func firstMissing(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	for i := range kinds {
		_, err := mapper.RESTMapping(kinds[i].GroupKind(), kinds[i].Version)
		if meta.IsNoMatchError(err) {
			return &kinds[i], nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // documented
}

// waiter runs on every replica, so that a standby replica is as ready as the leader.
type waiter func(context.Context) error

func (w waiter) Start(ctx context.Context) error { return w(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (waiter) NeedLeaderElection() bool { return false }

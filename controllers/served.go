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

// crdInterval is how often to look whether the CRDs that a controller waits for have been installed, where nothing else is said.
const crdInterval = 5 * time.Second

// whenServed sets a controller up once the hub serves all kinds that it needs: at once, or when their CRDs have been
// installed, for which it looks at that interval. A hub may do without them, and everything else works there.
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
			return missing == nil && err == nil, nil // what fails for now is asked again
		})
		if err != nil {
			return nil //nolint:nilerr // the program ends
		}
		ctrl.Log.Info("The CRDs have been installed: the controller begins", "controller", controller)
		return setup()
	}))
}

// firstMissing is the first of the kinds that the hub does not serve; nil when it serves all.
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

// waiter runs on every replica, so that the one that leads next is as far as the one that leads.
type waiter func(context.Context) error

func (w waiter) Start(ctx context.Context) error { return w(ctx) }

// NeedLeaderElection is for the manager.
func (waiter) NeedLeaderElection() bool { return false }

// Package crd tells a controller that a CustomResourceDefinition is another one than before: a product may install its own over
// Towline's, or Towline's over its own, while Towline runs. No object changes by that, so no other watch would say so.
package crd

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// looks are when to look after a change. Each of the hub's API servers serves the new schema a moment after the CRD has it, and
// nothing says when: what the first look finds may be the old one still.
var looks = []time.Duration{time.Second, 14 * time.Second, 45 * time.Second}

var kind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Changes wakes a controller that leads for what again gives, when the CRD of that name has another spec than at the start. Where the
// CRD may not be watched, the log says so and everything else works: the source never waits for it.
func Changes(mgr ctrl.Manager, name string, again func(context.Context) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		changed := make(chan struct{}, 1)
		c, err := follow(ctx, mgr, name, changed)
		if err != nil {
			return fmt.Errorf("the CRD %s: %w", name, err)
		}
		go func() {
			if err := c.Start(ctx); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Cannot follow the CRD", "name", name)
			}
		}()
		go look(ctx, changed, func() {
			for _, request := range again(ctx) {
				q.Add(request)
			}
		})
		return nil
	})
}

// follow makes a cache of the CRD's metadata, which tells of each change.
func follow(ctx context.Context, mgr ctrl.Manager, name string, changed chan<- struct{}) (cache.Cache, error) {
	object := metadata()
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: trimmed,
		ByObject: map[client.Object]cache.ByObject{object: {Field: fields.OneTermEqualSelector("metadata.name", name)}},
	})
	if err != nil {
		return nil, err
	}
	informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toldOnce(changed))
	return c, err
}

// trimmed leaves what tells a CRD from another one.
func trimmed(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.ObjectMeta = metav1.ObjectMeta{Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation}
	}
	return obj, nil
}

// toldOnce tells of each spec that the CRD has after its first.
func toldOnce(changed chan<- struct{}) toolscache.ResourceEventHandler {
	known := ""
	see := func(obj any) {
		m, ok := obj.(*metav1.PartialObjectMetadata)
		if !ok {
			return
		}
		before := known
		if known = fmt.Sprint(m.UID, "/", m.Generation); before == "" || before == known {
			return
		}
		select {
		case changed <- struct{}{}:
		default: // it is being told already
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, after any) { see(after) }}
}

// look calls again some times after each change, until ctx ends. A change in between begins anew.
func look(ctx context.Context, changed <-chan struct{}, again func()) {
	left := []time.Duration(nil)
	for {
		var next <-chan time.Time
		if len(left) > 0 {
			next = time.After(left[0])
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			left = looks
		case <-next:
			left = left[1:]
			again()
		}
	}
}

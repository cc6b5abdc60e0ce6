// Package crd wakes a controller when the spec of a CustomResourceDefinition changes. While Towline runs, a product may
// install its own CRD over Towline's CRD, or Towline's CRD may replace the product's. The custom resources do not
// change then, and no other watch reports the new schema.
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

// looks are the delays between the looks after a change of the CRD. Each API server of the hub serves the new schema a
// moment after the CRD has changed, and sends no signal. The first look may still find the old schema.
var looks = []time.Duration{time.Second, 14 * time.Second, 45 * time.Second}

var kind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Changes enqueues the requests of again for a leading controller, when the named CRD has another spec than at the
// start. Without permission to watch the CRD, Towline logs an error and all else works: the source never waits for the
// CRD.
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

// follow creates a cache of the CRD's metadata. The cache sends to changed after each change of the CRD's spec.
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

// trimmed keeps only the metadata that identifies a version of the CRD.
func trimmed(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.ObjectMeta = metav1.ObjectMeta{Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation}
	}
	return obj, nil
}

// toldOnce sends to changed for each new UID or generation of the CRD, except the first.
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
		default: // changed already has an unread signal
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, after any) { see(after) }}
}

// look calls again after each delay of looks, once the CRD has changed, until ctx ends. A further change starts the
// delays anew.
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

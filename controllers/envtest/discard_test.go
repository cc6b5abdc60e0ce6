package envtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// madeBy holds the objects that each test has created. All objects of a test are deleted together at its end.
var madeBy sync.Map

// discardLater deletes an object at the end of the test.
func discardLater(t *testing.T, obj client.Object) {
	t.Helper()
	objects, others := madeBy.LoadOrStore(t, &[]client.Object{})
	list := objects.(*[]client.Object)
	*list = append(*list, obj)
	if others {
		return
	}
	t.Cleanup(func() {
		madeBy.Delete(t)
		discard(t, *list)
	})
}

// discard deletes the objects of a test, in spite of finalizers: otherwise the controllers of every later test would
// work on them. A namespace cannot end without a namespace controller, so discard deletes only its contents. Works are
// deleted last: by then, no Application remains for which Towline would create the work again.
func discard(t *testing.T, objects []client.Object) {
	t.Helper()
	namespaces := map[string]bool{}
	var first, last []client.Object
	for _, obj := range objects {
		switch obj.(type) {
		case *corev1.Namespace:
			namespaces[obj.GetName()] = true
		case *workv1.ManifestWork:
			last = append(last, obj)
		default:
			first = append(first, obj)
		}
	}
	endAll(t, first)
	endAll(t, last)
	if len(namespaces) > 0 {
		endAll(t, contents(t, namespaces))
	}
}

// contents returns the objects in the namespaces that controllers read.
func contents(t *testing.T, namespaces map[string]bool) (inside []client.Object) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&argocd.ApplicationList{}, &workv1.ManifestWorkList{}, &v1alpha1.ApplicationReportList{}, &v1alpha1.MulticlusterApplicationSetReportList{},
	} {
		err := k8s.List(context.WithoutCancel(t.Context()), list)
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				if obj := item.(client.Object); namespaces[obj.GetNamespace()] {
					inside = append(inside, obj)
				}
				return nil
			})
		}
		if err != nil {
			t.Error(err)
		}
	}
	return inside
}

// endAll deletes objects, a few in parallel.
func endAll(t *testing.T, objects []client.Object) {
	t.Helper()
	each(t, len(objects), func(i int) error {
		return endSoon(context.WithoutCancel(t.Context()), objects[i])
	})
}

// endSoon deletes an object without its finalizers, and waits for the end of the deletion.
func endSoon(ctx context.Context, obj client.Object) error {
	var there error
	err := wait.PollUntilContextTimeout(ctx, tick, soon, true, func(ctx context.Context) (bool, error) {
		there = tryEnd(ctx, obj)
		return there == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%T %s: %w: %w", obj, client.ObjectKeyFromObject(obj), err, there)
	}
	return nil
}

// end deletes an object without its finalizers, and waits for the end of the deletion.
func end(t *testing.T, obj client.Object) {
	t.Helper()
	if err := endSoon(context.WithoutCancel(t.Context()), obj); err != nil {
		t.Fatal(err)
	}
}

// tryEnd deletes an object without its finalizers, and returns an error while the object still exists.
func tryEnd(ctx context.Context, obj client.Object) error {
	now := obj.DeepCopyObject().(client.Object)
	err := k8s.Delete(ctx, now)
	switch obj.(type) {
	case *clusterv1beta2.ManagedClusterSetBinding, *corev1.Secret, *corev1.ConfigMap: // these kinds have no finalizers
		return client.IgnoreNotFound(err)
	}
	if err == nil {
		err = k8s.Patch(ctx, now, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	}
	if err == nil && (now.GetDeletionTimestamp().IsZero() || len(now.GetFinalizers()) > 0) {
		return errors.New("it is there")
	}
	return client.IgnoreNotFound(err)
}

package hub

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=get;list;watch

// ApplicationSetKinds are the kinds that the API server must serve for ApplicationSets.Watch.
var ApplicationSetKinds = []schema.GroupVersionKind{ApplicationSet().GroupVersionKind()}

// ApplicationSet returns an empty ApplicationSet for a read or a watch.
func ApplicationSet() *metav1.PartialObjectMetadata {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return set
}

// ApplicationSets reads the metadata of the hub's ApplicationSets, once Watch was called. A hub may lack
// ApplicationSets, or install them later. The zero value knows no ApplicationSet.
type ApplicationSets struct{ served atomic.Bool }

// Watch wakes a controller for the requests of to, when the predicate passes a change of an ApplicationSet.
func (k *ApplicationSets) Watch(mgr ctrl.Manager, c controller.Controller, to handler.MapFunc, changed predicate.Predicate) error {
	// The informer must come first: a cache without the informer refuses reads instead of waiting for the answer.
	if err := informer.OnEveryReplica(mgr.GetCache(), ApplicationSet()); err != nil {
		return err
	}
	w := k.Of(to, changed)
	return c.Watch(source.Kind(mgr.GetCache(), w.Object, w.Handler, w.Changed...))
}

// Serve makes Get use a reader that needs no watch.
func (k *ApplicationSets) Serve() { k.served.Store(true) }

// Of returns the watch of Watch as data. From this call on, Get reads ApplicationSets.
func (k *ApplicationSets) Of(to handler.MapFunc, changed predicate.Predicate) loop.Watch {
	k.served.Store(true)
	return loop.WatchOf(ApplicationSet(), to, changed)
}

// Get returns the named ApplicationSet from the given reader. Get returns nil if the ApplicationSet does not exist, or
// if the hub has no ApplicationSets.
func (k *ApplicationSets) Get(ctx context.Context, c client.Reader, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	if !k.served.Load() {
		return nil, nil //nolint:nilnil // documented
	}
	set := ApplicationSet()
	err := c.Get(ctx, key, set, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // documented
	}
	return set, err
}

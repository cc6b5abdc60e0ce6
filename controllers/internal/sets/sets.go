// Package sets reads ApplicationSets, of which nothing but metadata is looked at. A hub may do without them, or get them
// later.
package sets

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

	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=get;list;watch

// Kinds are the kinds that have to be served for Watch.
var Kinds = []schema.GroupVersionKind{Object().GroupVersionKind()}

// Object is an ApplicationSet to read or to watch.
func Object() *metav1.PartialObjectMetadata {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return set
}

// Known are the ApplicationSets of the hub, once Watch was called. The zero value knows of none.
type Known struct{ served atomic.Bool }

// Watch wakes a controller for what the ApplicationSets are mapped to of which the predicate lets a change through.
func (k *Known) Watch(mgr ctrl.Manager, c controller.Controller, to handler.MapFunc, changed predicate.Predicate) error {
	// The informer comes first: a cache without one refuses reads instead of waiting until they can be answered.
	if err := leaderless.Hold(mgr.GetCache(), Object()); err != nil {
		return err
	}
	w := k.Of(to, changed)
	return c.Watch(source.Kind(mgr.GetCache(), w.Object, w.Handler, w.Changed...))
}

// Serve has Get ask a reader that needs no watch.
func (k *Known) Serve() { k.served.Store(true) }

// Of is that watch as data, from when ApplicationSets can be read.
func (k *Known) Of(to handler.MapFunc, changed predicate.Predicate) wake.Watch {
	k.served.Store(true)
	return wake.Of(Object(), to, changed)
}

// Get is the ApplicationSet of that name, as the cache has it or as the API server has it; nil when there is none, and on a hub that
// does without.
func (k *Known) Get(ctx context.Context, c client.Reader, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	if !k.served.Load() {
		return nil, nil //nolint:nilnil // documented
	}
	set := Object()
	err := c.Get(ctx, key, set, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // documented
	}
	return set, err
}

package propagation

import (
	"errors"

	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// watchUnlabelled watches the Applications without the pull label: their deletion, and the loss of the label. The hub's
// own Argo CD may skip such an Application. Then only Towline removes Argo CD's finalizers and Towline's own
// conditions. The metadata is in a separate cache, because the shared cache selects by the label. An Application with
// the label costs nothing in the separate cache.
func (r *Reconciler) watchUnlabelled(mgr ctrl.Manager) error {
	none, err := labels.NewRequirement(apis.LabelPull, selection.DoesNotExist, nil)
	if err != nil {
		return err
	}
	apps, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			applicationMetadata(): {Label: labels.NewSelector().Add(*none), Transform: trim.Outline},
		},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(
		informer.OnEveryReplica(apps, applicationMetadata()),
		informer.AddCache(mgr, "unlabelled", apps, "the Applications without the pull label have not been read yet"),
	); err != nil {
		return err
	}
	r.others = apps
	w := Unlabelled()
	return r.running.Watch(source.Kind(apps, w.Object, w.Handler, w.Changed...))
}

// Unlabelled returns the watch of the Applications without the pull label.
func Unlabelled() loop.Watch { return loop.WatchSelf(applicationMetadata(), endChanged()) }

// applicationMetadata returns the object for a watch of the metadata of Applications.
func applicationMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind))
	return m
}

// endChanged selects four kinds of changes of an Application without the pull label. These are a change of the facts
// about its deletion, a change of the pause, the end of a paused Application, and the takeover by the hub's own Argo
// CD. After a takeover, Towline's conditions leave the Application.
//
// A create event passes for an Application that the hub's own Argo CD skips: after the loss of the label, and at each
// start. The label may have been lost while no replica led, or just before this replica led. In the latter case, the
// watch of the labelled Applications was ahead of this watch. The queue then dropped the request, because neither cache
// had the Application.
func endChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return skipped(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			if before[apis.AnnotationPaused] != after[apis.AnnotationPaused] {
				return true
			}
			if e.ObjectNew.GetDeletionTimestamp().IsZero() {
				return skipped(e.ObjectOld) && !skipped(e.ObjectNew)
			}
			same := stuck(e.ObjectOld) && maps.Equal(before, after)
			return stuck(e.ObjectNew) && !same
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return e.Object.GetAnnotations()[apis.AnnotationPaused] != "" },
	}
}

// stuck reports whether finalizers block the deletion of an Application, and the hub's own Argo CD does not remove
// them.
func stuck(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && skipped(obj) && slices.ContainsFunc(obj.GetFinalizers(), argocd.IsCascadeFinalizer)
}

func skipped(obj client.Object) bool {
	app := &argocd.Application{}
	app.Annotations = obj.GetAnnotations()
	return app.ReconcileSkipped()
}

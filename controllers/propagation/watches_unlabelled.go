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

	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// watchUnlabelled wakes the Applications without the pull label that end, and those that have lost it: nobody else takes Argo CD's
// finalizers off one that the hub's own Argo CD leaves alone, or what Towline showed on it. Their metadata is in a cache of its own,
// since the shared one selects by the label: what has it costs nothing here.
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
		leaderless.Hold(apps, applicationMetadata()),
		leaderless.Add(mgr, "unlabelled", apps, "the Applications without the pull label have not been read yet"),
	); err != nil {
		return err
	}
	r.others = apps
	w := Unlabelled()
	return r.running.Watch(source.Kind(apps, w.Object, w.Handler, w.Changed...))
}

// Unlabelled is the watch of the Applications without the pull label.
func Unlabelled() wake.Watch { return wake.Self(applicationMetadata(), endChanged()) }

// applicationMetadata is an Application to watch by its metadata.
func applicationMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind))
	return m
}

// endChanged lets through what the end of an Application without the label depends on, the pause of its release, which its end
// ends too, and that the hub's own Argo CD takes one over: what Towline showed on it goes then.
//
// It lets through one that has lost its label and that the hub's own Argo CD leaves alone, and each such Application at a start. The loss may
// have come while nobody led, or just before this replica did: then the watch of those with the label was ahead of this one, and the queue
// has dropped what neither cache had.
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

// stuck tells whether an Application is being deleted and held by finalizers that the hub's own Argo CD does not take off.
func stuck(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && skipped(obj) && slices.ContainsFunc(obj.GetFinalizers(), argocd.IsCascadeFinalizer)
}

func skipped(obj client.Object) bool {
	app := &argocd.Application{}
	app.Annotations = obj.GetAnnotations()
	return app.ReconcileSkipped()
}

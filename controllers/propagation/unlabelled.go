package propagation

import (
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/standby"
	"github.com/towline-io/towline/controllers/slim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// watchUnlabelled wakes the Applications without the pull label that end: nobody else takes Argo CD's finalizers off one
// that the hub's own Argo CD leaves alone. Their metadata is in a cache of its own, since the shared one selects by the label:
// what has it costs nothing here.
func (r *Reconciler) watchUnlabelled(mgr ctrl.Manager) error {
	none, err := labels.NewRequirement(apis.LabelPull, selection.DoesNotExist, nil)
	if err != nil {
		return err
	}
	apps, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			applicationMetadata(): {Label: labels.NewSelector().Add(*none), Transform: slim.Outline},
		},
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(standby.Cache{Cache: apps}); err != nil {
		return err
	}
	r.others = apps
	return r.running.Watch(source.Kind[client.Object](apps, applicationMetadata(), &handler.EnqueueRequestForObject{}, endChanged()))
}

// applicationMetadata is an Application to watch by its metadata.
func applicationMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind))
	return m
}

// endChanged lets through what the end of an Application without the label depends on, the pause of its release, and that
// the hub's own Argo CD takes one over: what Towline showed on it goes then.
func endChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return stuck(e.Object) },
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
		DeleteFunc: func(event.DeleteEvent) bool { return false },
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

// wasOurs tells whether an Application without the label asks for a cluster, or asked for one when it was released.
func wasOurs(app *argocd.Application) bool {
	_, named := app.Annotations[apis.AnnotationCluster]
	return named || released(app)
}

// released tells whether the Application shows that it is being let go of, or has been.
func released(app *argocd.Application) bool { return hasCondition(app, apis.ConditionReleaseWarning) }

// unlabelled lets go of what an Application had while it was Towline's, and ends it when it is being deleted and nobody else
// would. Other changes of it are not watched any more: what it shows is written as long as it has works, which are, and once
// more when they have gone.
func (r *Reconciler) unlabelled(ctx context.Context, app *argocd.Application, hasWorks bool) error {
	deleting := !app.DeletionTimestamp.IsZero()
	if !hasWorks && !deleting {
		return r.report(ctx, app, leftBehind(app))
	}
	if _, err := r.revoke(ctx, app); err != nil { // it is not sent: nothing is pending beside
		return r.shown(ctx, app, err)
	}
	if deleting && stuck(app) && wasOurs(app) {
		return r.shown(ctx, app, r.finalizeReleased(ctx, app))
	}
	notice, err := r.releaseAll(ctx, app)
	if err == nil && notice == nil && deleting {
		notice, err = r.releaseUnseen(ctx, app)
	}
	return r.shown(ctx, app, problemOr(notice, err))
}

// shown reports a Problem, or that there is none, and returns what has to be tried again.
func (r *Reconciler) shown(ctx context.Context, app *argocd.Application, err error) error {
	p, is := errors.AsType[*Problem](err)
	if err != nil && !is {
		return err
	}
	if err := r.report(ctx, app, p); err != nil || p == nil {
		return err
	}
	return p.cause
}

// leftBehind is what an Application shows when the last of its works has gone. The hub's own Argo CD may have taken it over:
// then nothing is Towline's to say.
func leftBehind(app *argocd.Application) *Problem {
	sent := released(app) || wasOurs(app) && reportedOn(app)
	if !sent || !app.ReconcileSkipped() {
		return nil
	}
	return letGoWhile("the label " + apis.LabelPull + " is not there")
}

package propagation

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch

// paused returns what to tell of an Application for which no work is written now; nil when that is not so. Nobody
// waits for the answer to a refresh meanwhile: there is none.
func (r *Reconciler) paused(ctx context.Context, app *argocd.Application) (*Problem, error) {
	by, err := r.pausedBy(ctx, app)
	if err != nil || by == "" {
		return nil, err
	}
	if app.Annotations[apis.AnnotationRefresh] != "" {
		err = r.dropRefresh(ctx, app, "a refresh was asked for and dropped: the Application is paused by "+by)
		if err != nil {
			return nil, err
		}
		return nil, errAgain
	}
	what := "what changes on the hub waits"
	if !app.DeletionTimestamp.IsZero() {
		what = "its deletion waits"
	}
	return noticef(apis.ConditionPausedWarning, apis.ReasonPaused,
		"paused by the annotation %s on %s: %s, and what the cluster reports is still shown", apis.AnnotationPaused, by, what), nil
}

// errAgain ends a reconcile whose own write wakes the next one.
var errAgain = errors.New("written: the change wakes the next reconcile")

// pausedBy names the object whose annotation pauses the Application; empty for none.
func (r *Reconciler) pausedBy(ctx context.Context, app *argocd.Application) (string, error) {
	if argocd.Paused(app.Annotations) {
		return "this Application", nil
	}
	if name, ok := app.ApplicationSet(); ok && r.sets.Load() {
		set := applicationSet()
		err := r.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: name}, set)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if argocd.Paused(set.Annotations) {
			return "ApplicationSet " + app.Namespace + "/" + name, nil
		}
	}
	held, err := r.pausedCluster(ctx, app.Cluster())
	if err != nil || !held {
		return "", err
	}
	return "ManagedCluster " + app.Cluster(), nil
}

// pausedCluster tells whether nothing is to be written for the cluster of that name.
func (r *Reconciler) pausedCluster(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	cluster, err := r.cluster(ctx, name)
	return cluster != nil && argocd.Paused(cluster.Annotations), err
}

// applicationSet is an ApplicationSet to read: what has to be known of one is in its metadata.
func applicationSet() *metav1.PartialObjectMetadata {
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return set
}

// SetKinds is what has to be served for WatchSets.
var SetKinds = []schema.GroupVersionKind{applicationSet().GroupVersionKind()}

// WatchSets lets ApplicationSets pause their Applications. It comes after SetupWithManager, and once the hub serves
// SetKinds: a hub may do without them, or get them later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	r.sets.Store(true)
	return r.running.Watch(source.Kind[client.Object](mgr.GetCache(), applicationSet(),
		handler.EnqueueRequestsFromMapFunc(r.applicationsOfSet), pauseChanged()))
}

// pauseChanged lets through what pauses or goes on.
func pauseChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return argocd.Paused(e.ObjectOld.GetAnnotations()) != argocd.Paused(e.ObjectNew.GetAnnotations())
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return argocd.Paused(e.Object.GetAnnotations()) },
	}
}

func (r *Reconciler) applicationsOfSet(ctx context.Context, obj client.Object) []reconcile.Request {
	return requests(index.ApplicationsOfSet(ctx, r, client.ObjectKeyFromObject(obj)))
}

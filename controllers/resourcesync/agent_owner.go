package resourcesync

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/appreport"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=applicationreports,verbs=patch;delete
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch

// ownerWorkers is the number of parallel reconciles.
const ownerWorkers = 2

// owners makes each ManifestWork the owner of its report, so that the garbage collector deletes the report with the
// work. Agents cannot set the owner themselves: agents may not read works, because their rights cover the namespaces of
// other clusters.
type owners struct {
	client.Client

	reports cache.Cache
	live    client.Reader
}

// Reconcile sets the owner of the named report. Reconcile deletes a report whose work does not exist.
func (o *owners) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	report := &v1alpha1.ApplicationReport{} // shared with the cache: not to be changed
	if err := o.reports.Get(ctx, req.NamespacedName, report, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w := &workv1.ManifestWork{}
	known, err := found(&w.ObjectMeta, o.Get(ctx, req.NamespacedName, w, client.UnsafeDisableDeepCopy))
	if err != nil {
		return ctrl.Result{}, err
	}
	age := time.Since(report.CreationTimestamp.Time)
	step := appreport.DecideOwner(appreport.Owner(report), age, known)
	if step == appreport.OwnerDelete { // the cache lacks works without Towline's mark
		unmarked := &metav1.PartialObjectMetadata{}
		unmarked.SetGroupVersionKind(schema.GroupVersionKind{Group: workv1.GroupName, Version: workv1.GroupVersion.Version, Kind: "ManifestWork"})
		if known, err = found(&unmarked.ObjectMeta, o.live.Get(ctx, req.NamespacedName, unmarked)); err != nil {
			return ctrl.Result{}, err
		}
		step = appreport.DecideOwner(appreport.Owner(report), age, known)
	}
	switch step {
	case appreport.OwnerSet:
		return ctrl.Result{}, o.set(ctx, report, appreport.OwnerOf(known))
	case appreport.OwnerDelete:
		return ctrl.Result{}, o.delete(ctx, report)
	case appreport.OwnerAwait:
		return ctrl.Result{RequeueAfter: appreport.OwnerGrace - age}, nil
	case appreport.OwnerKeep:
	}
	return ctrl.Result{}, nil
}

// found returns the metadata of a read object, or nil if the object does not exist.
func found(m *metav1.ObjectMeta, err error) (*metav1.ObjectMeta, error) {
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return m, nil
}

// set patches the owner of a report, unless a new report has the name now.
func (o *owners) set(ctx context.Context, r *v1alpha1.ApplicationReport, owner metav1.OwnerReference) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": r.UID, "ownerReferences": []metav1.OwnerReference{owner}}})
	if err != nil {
		return err
	}
	target := metadataOf(r)
	err = o.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // a new report with the name causes its own event
	}
	return err
}

func (o *owners) delete(ctx context.Context, r *v1alpha1.ApplicationReport) error {
	ctrl.LoggerFrom(ctx).V(1).Info("Deleting an ApplicationReport without an owner: its ManifestWork is gone")
	err := o.Delete(ctx, metadataOf(r), client.Preconditions{UID: &r.UID})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// metadataOf returns the metadata object of a report, so that the answer of a request stays small.
func metadataOf(r *v1alpha1.ApplicationReport) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ApplicationReport"))
	return m
}

// setup registers the controller. The controller wakes when a report is created or its owners change, and when a work
// is created or replaced.
func (o *owners) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("reportowners").
		WatchesRawSource(source.Kind(o.reports, &v1alpha1.ApplicationReport{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.ApplicationReport]{},
			ownersChanged())).
		WatchesRawSource(source.Kind(mgr.GetCache(), &workv1.ManifestWork{}, handler.TypedEnqueueRequestsFromMapFunc(o.reportOf),
			cameOrWent())).
		WithOptions(loop.LeaderOptions(ownerWorkers)).
		Complete(o)
}

// reportOf returns a request for the report of a work, if the report exists.
func (o *owners) reportOf(ctx context.Context, w *workv1.ManifestWork) []reconcile.Request {
	key := client.ObjectKeyFromObject(w)
	if o.reports.Get(ctx, key, &v1alpha1.ApplicationReport{}, client.UnsafeDisableDeepCopy) != nil {
		return nil // the creation of the report causes its own request
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// ownersChanged passes new reports and reports with a changed owner.
func ownersChanged() predicate.TypedPredicate[*v1alpha1.ApplicationReport] {
	return predicate.TypedFuncs[*v1alpha1.ApplicationReport]{
		UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.ApplicationReport]) bool {
			return e.ObjectOld.UID != e.ObjectNew.UID || appreport.Owner(e.ObjectOld) != appreport.Owner(e.ObjectNew)
		},
		DeleteFunc: func(event.TypedDeleteEvent[*v1alpha1.ApplicationReport]) bool { return false },
	}
}

// cameOrWent passes created, replaced and deleted works. The works of the initial list do not pass: their reports cause
// requests at the start.
func cameOrWent() predicate.TypedPredicate[*workv1.ManifestWork] {
	return predicate.TypedFuncs[*workv1.ManifestWork]{
		CreateFunc: func(e event.TypedCreateEvent[*workv1.ManifestWork]) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.TypedUpdateEvent[*workv1.ManifestWork]) bool { return e.ObjectOld.UID != e.ObjectNew.UID },
	}
}

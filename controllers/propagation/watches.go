package propagation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/standby"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/companion"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	options := retry.Options(concurrency)
	options.NewQueue = standby.Queue(mgr.Elected(), r.known)
	r.losses.waits = func() bool { return standby.Waits(mgr.Elected()) }
	r.losses.spokenOf = r.spokenOf
	b := ctrl.NewControllerManagedBy(mgr).
		Named("propagation").
		For(&argocd.Application{}, builder.WithPredicates(r.losses.watched(), applicationChanged())).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(r.rivals),
			builder.WithPredicates(targetChanged())).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(r.applicationsOfWork),
			builder.WithPredicates(r.losses.worksWatched(), workChanged())).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.applicationsOfCluster),
			builder.WithPredicates(clusterChanged())).
		WithOptions(options)
	running, err := r.Grants.Watch(b).Build(r)
	if err != nil {
		return err
	}
	r.running = running
	return r.watchUnlabelled(mgr)
}

// spokenOf tells whether a work names an Application, as the cache has it.
func (r *Reconciler) spokenOf(app types.NamespacedName) bool {
	spoken := false
	_, err := index.WorksNaming(context.Background(), r, app, func(*workv1.ManifestWork) bool {
		spoken = true
		return false // nothing is copied
	})
	return spoken || err != nil
}

// known tells whether the hub has an Application, by what is cached, or a work that names it. Of others there is nothing to
// do.
func (r *Reconciler) known(req reconcile.Request) bool {
	ctx := context.Background()
	app := &argocd.Application{}
	if err := r.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); !apierrors.IsNotFound(err) {
		return true
	}
	return r.spokenOf(req.NamespacedName) || !apierrors.IsNotFound(r.others.Get(ctx, req.NamespacedName, applicationMetadata()))
}

// applicationChanged lets through what propagation reads of an Application. Its status is not among it, and has no
// generation of its own to be told apart by: Application has no status subresource.
func applicationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		return !sameRequest(before, after) || hasProblem(before) != hasProblem(after) ||
			(after.Operation != nil || moves(after) || !after.DeletionTimestamp.IsZero()) && startedAt(before) != startedAt(after) ||
			stopping(before) != stopping(after) ||
			moves(after) && before.Status.Health.Status != after.Status.Health.Status
	}}
}

// targetChanged lets through what may free a target for another Application: an end, and a change of target.
func targetChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return index.Target(e.ObjectOld.(*argocd.Application)) != index.Target(e.ObjectNew.(*argocd.Application))
		},
	}
}

func sameRequest(a, b *argocd.Application) bool {
	return maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) &&
		slices.Equal(a.Finalizers, b.Finalizers) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) &&
		bytes.Equal(a.Spec.Raw, b.Spec.Raw) &&
		equality.Semantic.DeepEqual(a.Operation, b.Operation) &&
		maps.EqualFunc(a.Unknown, b.Unknown, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// startedAt is when the operation began that the hub's status shows: a request is over once it is shown there, and only
// what is shown can be stopped.
func startedAt(app *argocd.Application) string {
	if app.Status.OperationState == nil {
		return ""
	}
	return app.Status.OperationState.StartedAt
}

// moves tells whether an earlier target waits for the Application to be healthy where it is to be now.
func moves(app *argocd.Application) bool { return hasCondition(app, apis.ConditionMoveWarning) }

// hasCondition tells whether the Application shows a condition of that type.
func hasCondition(app *argocd.Application, conditionType string) bool {
	return slices.ContainsFunc(app.Status.Conditions, func(c argocd.Condition) bool { return c.Type == conditionType })
}

// stopping tells whether the hub's status shows an operation that is to be stopped.
func stopping(app *argocd.Application) bool {
	return app.Status.OperationState != nil && app.Status.OperationState.Phase == "Terminating"
}

// hasProblem tells whether the Application shows a condition that this controller owns: if someone else drops it,
// it is put back. Its text alone wakes nobody: an API server's words may differ each time.
func hasProblem(app *argocd.Application) bool {
	return slices.ContainsFunc(app.Status.Conditions, isProblem)
}

// workChanged lets through the making, the end and the editing of a work, the moment when the agent has applied it,
// and how the requests that it carries get on. Everything else that the agent reports is the status controller's.
func workChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*workv1.ManifestWork), e.ObjectNew.(*workv1.ManifestWork)
		return before.Generation != after.Generation ||
			!maps.Equal(before.Labels, after.Labels) ||
			!maps.Equal(before.Annotations, after.Annotations) ||
			!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
			work.Outcome(before) != work.Outcome(after) || absent(before) != absent(after) ||
			refused(before) != refused(after) || notThere(before) != notThere(after) ||
			progress(before) != progress(after) || left(before) != left(after) ||
			told(before) != told(after)
	}}
}

// progress is what a work reports of requests: the operation that runs or ended last, while it remembers one the
// version that this was read from and, while it carries a refresh, when the cluster last compared. An operation that is
// said to run counts as taken off there once the report is complete.
func progress(w *workv1.ManifestWork) string {
	names := []string{"operationStatePhase", "operationStateStartedAt", "operationTaken", "operationPending"}
	if w.Annotations[apis.AnnotationRequestSent] != "" {
		names = append(names, "resourceVersion")
	}
	if w.Annotations[apis.AnnotationRefreshSent] != "" {
		names = append(names, "reconciledAt")
	}
	text := feedback.Text(&w.Status, names...)
	if strings.Contains(text, "operationStatePhase=Running\n") || strings.Contains(text, "operationStatePhase=Terminating\n") {
		text += fmt.Sprint(complete(w))
	}
	return text
}

func complete(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && feedback.Parse(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier).Complete
}

// left is what a work that is to leave what its Application deployed reports of finalizers.
func left(w *workv1.ManifestWork) string {
	if !work.TellsLeft(w) {
		return ""
	}
	finalizers, known := work.Left(w)
	return fmt.Sprint(finalizers, known)
}

// told tells whether the cluster has told of its Application at all: a request that waits can go on its way then.
func told(w *workv1.ManifestWork) bool { return feedback.Text(&w.Status, "resourceVersion") != "" }

// clusterChanged lets through what decides whether a cluster can be a target, and whose: its labels put it into sets.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.ManagedCluster), e.ObjectNew.(*clusterv1.ManagedCluster)
		return before.Spec.HubAcceptsClient != after.Spec.HubAcceptsClient ||
			!maps.Equal(before.Labels, after.Labels) ||
			authorization.Describe(before).Server != authorization.Describe(after).Server ||
			before.Annotations[apis.AnnotationPaused] != after.Annotations[apis.AnnotationPaused] ||
			report.Unreachable(before) != report.Unreachable(after) || // a deletion that waits says so
			// Set when the cluster has been accepted and has its namespace.
			meta.IsStatusConditionTrue(before.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) !=
				meta.IsStatusConditionTrue(after.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) ||
			!before.DeletionTimestamp.Equal(after.DeletionTimestamp)
	}}
}

// applicationsOfWork are the Applications that must have this work, and the one that its annotations name: the
// first may have to repair it, the second may be gone. The Applications that are being let go of wait for the companions
// of their cluster.
func (r *Reconciler) applicationsOfWork(ctx context.Context, obj client.Object) []reconcile.Request {
	if _, is := companion.KindOf(obj.GetName()); is {
		return r.releasing(ctx, obj.GetNamespace())
	}
	keys := index.ApplicationsOfWork(ctx, r, client.ObjectKeyFromObject(obj))
	if key, ok := index.HubApplication(obj); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return requests(append(keys, r.heirs(ctx, obj.(*workv1.ManifestWork))...))
}

// heirs are the Applications of a place on a cluster that a work lets go of: with its end another may have it.
func (r *Reconciler) heirs(ctx context.Context, w *workv1.ManifestWork) []types.NamespacedName {
	if !work.Released(w) || len(w.Spec.ManifestConfigs) == 0 {
		return nil
	}
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	place := &argocd.Application{}
	place.Namespace, place.Name, place.Annotations = id.Namespace, id.Name, map[string]string{apis.AnnotationCluster: w.Namespace}
	return index.ApplicationsOfTarget(ctx, r, place)
}

// releasing are the Applications that a cluster is to let go of.
func (r *Reconciler) releasing(ctx context.Context, cluster string) []reconcile.Request {
	list := &workv1.ManifestWorkList{}
	if err := r.List(ctx, list, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The works of a cluster cannot be listed from the cache")
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if key, ok := index.HubApplication(&list.Items[i]); ok && work.Released(&list.Items[i]) {
			keys = append(keys, key)
		}
	}
	return requests(keys)
}

// applicationsOfCluster are the Applications that ask for a cluster, and those that it has and that ask to go elsewhere now:
// it is waited for.
func (r *Reconciler) applicationsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfCluster(ctx, r, obj.GetName())
	return requests(append(keys, index.ApplicationsOfWorks(ctx, r, client.InNamespace(obj.GetName()))...))
}

func requests(keys []types.NamespacedName) []reconcile.Request {
	out := make([]reconcile.Request, len(keys))
	for i, key := range keys {
		out[i].NamespacedName = key
	}
	return out
}

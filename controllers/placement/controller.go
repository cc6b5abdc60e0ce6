package placement

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/placement"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the cluster of one Application in step with the Application's Placement. The memory is only for the
// brake.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. Every move of an Application first needs a read from Live.
	Live client.Reader

	// Events records events about new clusters.
	Events events.EventRecorder

	brakes brakes
}

// Reconcile sets the cluster of the requested Application to the cluster chosen by the Placement.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{} // owned by the cache: do not change it
	if err := r.Get(ctx, req.NamespacedName, app, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		r.brakes.forget(req.NamespacedName)
		return ctrl.Result{}, r.withdraw(ctx, req.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, err
	}
	chosen, err := r.chosen(ctx, r.Client, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := placement.Decide(app, chosen)
	if plan.Cluster != "" && app.Cluster() != "" { // before a move, read from the API server, because a cache may go back at a start
		if chosen, err = r.chosen(ctx, r.Live, app); err != nil {
			return ctrl.Result{}, err
		}
		plan = placement.Decide(app, chosen)
	}
	plan, again := r.brakes.of(req.NamespacedName).Apply(plan, app, time.Now())
	err = r.apply(ctx, app, plan)
	if apierrors.IsConflict(err) {
		return loop.Backoff(), nil
	}
	return ctrl.Result{RequeueAfter: again}, client.IgnoreNotFound(err)
}

// withdraw removes the warning from an Application that is not for pull any more. Without the label, the cache does not
// have the Application.
func (r *Reconciler) withdraw(ctx context.Context, key types.NamespacedName) error {
	app := &argocd.Application{}
	if err := r.Live.Get(ctx, key, app); err != nil {
		return client.IgnoreNotFound(err)
	}
	if app.Pulled() {
		return nil // the Application is for pull again, and a separate event follows
	}
	return client.IgnoreNotFound(r.apply(ctx, app, placement.Plan{}))
}

// chosen returns the clusters chosen by the Application's Placement.
func (r *Reconciler) chosen(ctx context.Context, reader client.Reader, app *argocd.Application) ([]string, error) {
	if !placement.Follows(app) {
		return nil, nil
	}
	decisions := &clusterv1beta1.PlacementDecisionList{}
	err := reader.List(ctx, decisions, client.InNamespace(app.Namespace),
		client.MatchingLabels{clusterv1beta1.PlacementLabel: app.Placement()}, client.UnsafeDisableDeepCopy)
	var out []string
	for i := range decisions.Items {
		if decisions.Items[i].DeletionTimestamp.IsZero() {
			out = append(out, index.DecidedBy(&decisions.Items[i])...)
		}
	}
	return out, err
}

// apply writes the changes of the plan.
func (r *Reconciler) apply(ctx context.Context, app *argocd.Application, plan placement.Plan) error {
	patch := &argocd.Patch{Exact: true}
	if plan.Cluster != "" {
		patch.Annotations = map[string]*string{apis.AnnotationCluster: &plan.Cluster}
	}
	if conditions := warned(app, plan.Warning, metav1.Now()); !argocd.SameConditions(app.Status.Conditions, conditions) {
		patch.Conditions = conditions
	}
	if _, err := hub.WriteApplication(ctx, r.Client, app, patch); err != nil {
		return err
	}
	switch {
	case plan.Cluster != "":
		r.brakes.wrote(client.ObjectKeyFromObject(app), plan.Cluster)
		r.Events.Eventf(app, nil, corev1.EventTypeNormal, apis.ReasonPlaced, "Place", "Placement %s has chosen cluster %s", app.Placement(), plan.Cluster)
	case patch.Conditions != nil && plan.Warning != "":
		r.Events.Eventf(app, nil, corev1.EventTypeWarning, apis.ReasonPlacementUnclear, "Place", "%s", feedback.Clean(plan.Warning, feedback.MaxMessage))
	}
	return nil
}

// warned returns the Application's conditions with the warning; without any warning if warning is empty.
func warned(app *argocd.Application, warning string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if warning != "" {
		wanted = append(wanted, argocd.Condition{
			Type: apis.ConditionPlacementWarning, Message: feedback.Clean(warning, feedback.MaxMessage)})
	}
	return argocd.SetConditions(app.Status.Conditions, wanted,
		func(t string) bool { return t == apis.ConditionPlacementWarning }, now)
}

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

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/placement"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the cluster of one Application in step with its Placement. What it remembers is for the brake.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before an Application moves.
	Live client.Reader

	// Events tells of new clusters.
	Events events.EventRecorder

	brakes brakes
}

// Reconcile has the Application that req names go where its Placement says.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{} // the cache's own: not to be changed
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
	if plan.Cluster != "" && app.Cluster() != "" { // a move: by what the API server has, since a cache may go back at a start
		if chosen, err = r.chosen(ctx, r.Live, app); err != nil {
			return ctrl.Result{}, err
		}
		plan = placement.Decide(app, chosen)
	}
	plan, again := r.brakes.of(req.NamespacedName).Apply(plan, app, time.Now())
	err = r.apply(ctx, app, plan)
	if apierrors.IsConflict(err) {
		return retry.Slower(), nil
	}
	return ctrl.Result{RequeueAfter: again}, client.IgnoreNotFound(err)
}

// withdraw takes the warning off an Application that is not for pull any more: without the label, the cache does not have it.
func (r *Reconciler) withdraw(ctx context.Context, key types.NamespacedName) error {
	app := &argocd.Application{}
	if err := r.Live.Get(ctx, key, app); err != nil {
		return client.IgnoreNotFound(err)
	}
	if app.Pulled() {
		return nil // it is again, which is an event of its own
	}
	return client.IgnoreNotFound(r.apply(ctx, app, placement.Plan{}))
}

// chosen are the clusters that the Application's Placement has chosen.
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

// apply writes the plan where it changes something.
func (r *Reconciler) apply(ctx context.Context, app *argocd.Application, plan placement.Plan) error {
	patch := &argocd.Patch{Exact: true}
	if plan.Cluster != "" {
		patch.Annotations = map[string]*string{apis.AnnotationCluster: &plan.Cluster}
	}
	if conditions := warned(app, plan.Warning, metav1.Now()); !argocd.SameConditions(app.Status.Conditions, conditions) {
		patch.Conditions = conditions
	}
	if _, err := hubapp.Write(ctx, r.Client, app, patch); err != nil {
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

// warned is the Application's list of conditions with that warning; without one for an empty warning.
func warned(app *argocd.Application, warning string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if warning != "" {
		wanted = append(wanted, argocd.Condition{
			Type: apis.ConditionPlacementWarning, Message: feedback.Clean(warning, feedback.MaxMessage)})
	}
	return argocd.SetConditions(app.Status.Conditions, wanted,
		func(t string) bool { return t == apis.ConditionPlacementWarning }, now)
}

package aggregation

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/resourcesync"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=multiclusterapplicationsetreports,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=multiclusterapplicationsetreports.apps.open-cluster-management.io,verbs=list;watch
// The admission policy for reports asks for this verb.
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=multiclusterapplicationsetreports,verbs=publish
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the report of one ApplicationSet up to date.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is for a report with unknown content, and for the proof that
	// an ApplicationSet has no Applications left.
	Live client.Reader

	// Inventory knows the reported status of the Applications on the clusters.
	Inventory *resourcesync.Inventory

	// Events records events for users on the report.
	Events events.EventRecorder

	running controller.Controller
	sets    hub.ApplicationSets
	memory  memory
	schema  schema
}

// Reconcile updates the report of the requested ApplicationSet. Before, it waits for further changes, and for the end
// of the wait that recent writes have caused.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := r.memory.set(req.NamespacedName)
	if wait := s.wait(time.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := r.reconcile(ctx, req.NamespacedName, s)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, errGone) || errors.Is(err, errNotGenerated) {
		s.published = nil
		return loop.Backoff(), nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName, s *set) error {
	if err := r.load(ctx, key, s); err != nil {
		return err
	}
	if err := r.observe(ctx, key, s); err != nil {
		return err
	}
	switch {
	case s.rows.Len() > 0:
		return r.publish(ctx, key, s)
	case s.published.stays():
		return r.publishEmpty(ctx, key, s)
	}
	return r.remove(ctx, key, s)
}

// publish writes the rows into the report, and updates the metrics.
func (r *Reconciler) publish(ctx context.Context, key types.NamespacedName, s *set) error {
	if err := r.write(ctx, key, s); err != nil {
		return err
	}
	s.done(time.Now())
	showCounts(key, s)
	return nil
}

package propagation

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/tracing"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,resourceNames="system:serviceaccount::klusterlet-work-sa",verbs=execute-as
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler delivers one Application to its cluster. The memory of a Reconciler has only facts from the watches and
// reconciles of its process, and is empty after a restart.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. Every deletion first needs a read from Live.
	Live client.Reader

	// Options are the settings for all Applications.
	Options delivery.Options

	// Grants checks which Application may go to which cluster.
	Grants *grants.Checker

	// Executor is the default ServiceAccount on the clusters, for AppProjects without an own account. The work agents
	// apply the works with the rights of the account. The zero value means no account.
	Executor types.NamespacedName

	// Dependencies reports about the dependencies of the Applications; nil if Towline delivers no dependencies.
	Dependencies interface {
		// Released reports whether the dependencies of the Applications in a work stay on the cluster without the work.
		Released(ctx context.Context, w *workv1.ManifestWork) (bool, error)

		// Lead creates the missing works that the work agent must see before a new work. The controller of the dependencies
		// repeats a failed creation.
		Lead(ctx context.Context, w *workv1.ManifestWork) error
	}

	// Events records events for users on the Application.
	Events events.EventRecorder

	// Pauses reads which objects pause an Application.
	Pauses *settings.Pauses

	// Tracking knows the label by which the hub's Argo CD tracks deployed objects; nil for the default of Argo CD.
	Tracking *settings.TrackingLabel

	// LossWindow is how long Towline looks for further missing Applications, after the discovery of a missing
	// Application without a deletion event. Then Towline decides whether the missing Applications are few or a mass
	// loss. 0 stands for 5 s.
	LossWindow time.Duration

	// Now returns the current time; nil for the clock of the machine.
	Now func() time.Time

	// NewIdentity returns a new identity for an operation, different from the identity of every earlier operation; nil
	// for a random identity.
	NewIdentity func() string

	// Tracer sends traces; nil for no traces.
	Tracer *tracing.Tracer

	// Decided is called with each plan without required facts, applied or not; nil for no call.
	Decided func(types.NamespacedName, *delivery.Plan)

	// others reads the metadata of Applications without the pull label from a cache.
	others client.Reader

	blocked     gauge.Reasons
	states      stateCounter
	times       times
	failing     failing
	losses      lossDetector
	revocations revocations
	uncached    uncachedWorks
	watchClaims watchClaims
	running     controller.Controller
}

// now returns the current time.
func (r *Reconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// newIdentity returns a new identity for an operation.
func (r *Reconciler) newIdentity() string {
	if r.NewIdentity == nil {
		return string(uuid.NewUUID())
	}
	return r.NewIdentity()
}

// Reconcile delivers the requested Application to the cluster, or removes the Application there. Reconcile observes,
// decides and applies.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	since, began := r.times.changed.Take(req.NamespacedName), time.Now()
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		r.times.changed.Note(req.NamespacedName, since)
		return ctrl.Result{}, err
	}
	seen.since = since
	if r.Tracer != nil {
		seen.traced = &traced{tracer: r.Tracer, changed: cmp.Or(since, began), began: began}
	}
	defer func() { r.times.changed.Note(req.NamespacedName, seen.since) }()
	result, err := loop.Phases[*delivery.Plan]{
		Decide:      func(ctx context.Context) (*delivery.Plan, error) { return r.decide(ctx, seen) },
		ObserveLive: func(ctx context.Context, _ *delivery.Plan) (bool, error) { return r.observeLive(ctx, seen) },
		Apply:       func(ctx context.Context, p *delivery.Plan) (loop.Outcome, error) { return r.apply(ctx, seen, p) },
		Wait:        func(p *delivery.Plan) ctrl.Result { return loop.Requeue(p.Wait.After, p.Wait.Backoff) },
	}.Run(ctx)
	seen.traced.send(ctx, seen, err)
	return result, err
}

// decide makes a plan, and reads the missing facts.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (*delivery.Plan, error) {
	for {
		plan := delivery.Decide(seen.Facts, r.Options)
		if plan.Required == 0 {
			if r.Decided != nil {
				r.Decided(seen.Key, &plan)
			}
			return &plan, nil
		}
		if err := r.observeMore(ctx, seen, plan.Required); err != nil {
			return nil, err
		}
	}
}

package propagation

import (
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
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/tracking"
	"github.com/towline-io/towline/pkg/delivery"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,resourceNames="system:serviceaccount::klusterlet-work-sa",verbs=execute-as
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler brings one Application to its cluster. What it remembers is only what the hub has told of while it ran.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before anything is deleted.
	Live client.Reader

	// Options are what is said for all Applications.
	Options delivery.Options

	// Grants says who may send what where.
	Grants *grants.Checker

	// Executor is the ServiceAccount of the clusters whose rights works need whose AppProject names none; the zero
	// value for none.
	Executor types.NamespacedName

	// Dependencies tells what travels beside Applications; nil where nothing does.
	Dependencies interface {
		// Released tells whether what the Applications of a work use will stay on the cluster without it.
		Released(ctx context.Context, w *workv1.ManifestWork) (bool, error)
	}

	// Events records what people should see on the Application.
	Events events.EventRecorder

	// Pauses tells what is paused.
	Pauses *pause.Reader

	// Tracking knows the label by which the hub's Argo CD tracks what it deployed; nil where that is its default.
	Tracking *tracking.Reader

	// LossWindow is how long to look for others before a missing Application that nobody was told of is taken for one of a few;
	// 0 stands for 5 s.
	LossWindow time.Duration

	// Now tells the time; nil for the clock of the machine.
	Now func() time.Time

	// NewIdentity returns a word that no operation has had, to tell operations apart by; nil for a random one.
	NewIdentity func() string

	// Decided is told of each plan that is made, applied or not; nil for nobody.
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
	running     controller.Controller
}

// now is the time.
func (r *Reconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// newIdentity is a word that no operation has had.
func (r *Reconciler) newIdentity() string {
	if r.NewIdentity == nil {
		return string(uuid.NewUUID())
	}
	return r.NewIdentity()
}

// Reconcile brings the Application that req names to its cluster, or off it: it observes, decides and applies.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	since := r.times.changed.Take(req.NamespacedName)
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		r.times.changed.Note(req.NamespacedName, since)
		return ctrl.Result{}, err
	}
	seen.since = since
	defer func() { r.times.changed.Note(req.NamespacedName, seen.since) }()
	return loop.Phases[*delivery.Plan]{
		Decide:      func(ctx context.Context) (*delivery.Plan, error) { return r.decide(ctx, seen) },
		ObserveLive: func(ctx context.Context, _ *delivery.Plan) (bool, error) { return r.observeLive(ctx, seen) },
		Apply:       func(ctx context.Context, p *delivery.Plan) (loop.Outcome, error) { return r.apply(ctx, seen, p) },
		Wait:        func(p *delivery.Plan) ctrl.Result { return loop.Again(p.Wait.After, p.Wait.Backoff) },
	}.Run(ctx)
}

// decide makes a plan, and reads what it lacks.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (*delivery.Plan, error) {
	for {
		plan := delivery.Decide(seen.Facts, r.Options)
		if plan.Need == 0 {
			if r.Decided != nil {
				r.Decided(seen.Key, &plan)
			}
			return &plan, nil
		}
		if err := r.observeMore(ctx, seen, plan.Need); err != nil {
			return nil, err
		}
	}
}

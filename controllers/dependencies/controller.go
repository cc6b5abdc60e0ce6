package dependencies

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/dependency"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,namespace=argocd,resources=appprojects,verbs=get;list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=secrets,verbs=list;watch

// Reconciler keeps the work of one dependency up to date. The memory can be lost at any time.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. Every deletion first needs reads from Live.
	Live client.Reader

	// Options are the settings for all dependencies.
	Options dependency.Options

	// Executor is the ServiceAccount on the clusters whose rights the work agent needs for the named objects of an
	// Application, as for the Application itself; see propagation.Reconciler.
	Executor types.NamespacedName

	// Events records events for users on the Application.
	Events events.EventRecorder

	// Pauses reads which objects pause an Application.
	Pauses *settings.Pauses

	// Tracking knows the label by which the hub's Argo CD tracks deployed objects.
	Tracking *settings.TrackingLabel

	// Grants checks whether Applications may be on their clusters. Propagation watches the objects behind the checks.
	Grants *grants.Checker

	running   controller.Controller
	leading   singleflight.Group // by the key of the work
	led       turns              // of Lead
	trust     *trust
	scopes    scopes
	missing   missing
	turns     turns
	notOlder  notSentByOlder
	refreshes refreshes
	troubled  gauge.Reasons
}

// Reconcile handles the requested work: it observes, decides and applies.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if left := r.turns.left(req.NamespacedName, time.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.turns.took(req.NamespacedName, time.Now(), time.Duration(len(seen.Works))*turnPerWork)
	return r.phases(seen).Run(ctx)
}

// phases returns the phases for an observed work.
func (r *Reconciler) phases(seen *observation) loop.Phases[*dependency.Plan] {
	return loop.Phases[*dependency.Plan]{
		Decide:      func(ctx context.Context) (*dependency.Plan, error) { return r.decide(ctx, seen) },
		ObserveLive: func(ctx context.Context, _ *dependency.Plan) (bool, error) { return r.observeLive(ctx, seen) },
		Apply:       func(ctx context.Context, p *dependency.Plan) (loop.Outcome, error) { return r.apply(ctx, seen, p) },
		Wait:        func(p *dependency.Plan) ctrl.Result { return ctrl.Result{RequeueAfter: p.After} },
	}
}

// decide makes a plan, and reads the missing facts.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (*dependency.Plan, error) {
	for {
		plan := dependency.Decide(seen.Facts, r.Options)
		if plan.Required == 0 {
			return &plan, plan.Err
		}
		if err := r.observeMore(ctx, seen, plan.Required); err != nil {
			return nil, err
		}
	}
}

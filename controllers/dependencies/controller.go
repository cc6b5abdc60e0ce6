package dependencies

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/tally"
	"github.com/towline-io/towline/controllers/internal/tracking"
	"github.com/towline-io/towline/pkg/dependency"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,namespace=argocd,resources=appprojects,verbs=get;list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=secrets,verbs=list;watch

// rounds is how many plans are made of one work at a time: each but the last meets something that was not known.
const rounds = 3

// Reconciler keeps one dependency's work as it should be. What it remembers can be lost at any time.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before anything is deleted.
	Live client.Reader

	// Options are what is said for all dependencies.
	Options dependency.Options

	// Executor is the ServiceAccount of the clusters whose rights are needed for what an Application names, as they are
	// for the Application itself; see propagation.Reconciler.
	Executor types.NamespacedName

	// Events records what people should see on the Application.
	Events events.EventRecorder

	// Pauses tells what is paused.
	Pauses *pause.Reader

	// Tracking knows the label by which the hub's Argo CD tracks what it deployed.
	Tracking *tracking.Reader

	// Grants tells whether Applications may be where they ask to be. What it reads, propagation watches.
	Grants *grants.Checker

	running   controller.Controller
	scopes    scopes
	missing   missing
	refreshes refreshes
	troubled  tally.Reasons
}

// Reconcile looks at the work that req names: it observes, decides and applies. Something that only the API server could tell
// makes it decide once more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	for range rounds {
		plan, agreed, err := r.decide(ctx, seen)
		if err != nil || !agreed {
			return ctrl.Result{RequeueAfter: behind}, err
		}
		met, err := r.apply(ctx, seen, plan)
		switch {
		case err != nil:
			return ctrl.Result{}, err
		case met.conflict:
			return ctrl.Result{RequeueAfter: retry.Conflict}, nil
		case met.exists:
			if err := r.observeUnwatched(ctx, seen); err != nil {
				return ctrl.Result{}, err
			}
			continue
		}
		return ctrl.Result{RequeueAfter: plan.After}, nil
	}
	return ctrl.Result{RequeueAfter: retry.Conflict}, nil
}

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the work,
// unless it is one that does not.
const behind = time.Second

// decide makes a plan of what was observed. One that destroys something is made twice: the second time from what the API
// server has now, which seen is afterwards. It tells whether both come to the same, or the second destroys nothing.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (plan dependency.Plan, agreed bool, err error) {
	plan, err = r.decideOnce(ctx, seen)
	if err != nil || seen.Live || plan.Destroys() == "" {
		return plan, true, err
	}
	if same, err := r.observeLive(ctx, seen); err != nil || !same {
		return plan, false, err
	}
	second, err := r.decideOnce(ctx, seen)
	if err != nil {
		return second, false, err
	}
	same := plan.Destroys() == second.Destroys()
	if !same && (second.After == 0 || second.After > behind) {
		second.After = behind
	}
	return second, same || second.Destroys() == "", nil
}

// decideOnce makes a plan, and reads what it lacks.
func (r *Reconciler) decideOnce(ctx context.Context, seen *observation) (dependency.Plan, error) {
	for {
		plan := dependency.Decide(seen.Facts, r.Options)
		if plan.Need == 0 {
			return plan, plan.Err
		}
		if err := r.observeMore(ctx, seen, plan.Need); err != nil {
			return plan, err
		}
	}
}

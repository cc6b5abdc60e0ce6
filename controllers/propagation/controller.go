package propagation

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/tally"
	"github.com/towline-io/towline/controllers/internal/tracking"
	"github.com/towline-io/towline/pkg/delivery"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the
// Application, unless it is one that does not.
const behind = time.Second

// rounds is how many plans are made of one Application at a time: each but the last meets something that was not known.
const rounds = 4

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

	// Now tells the time; nil for the clock of the machine.
	Now func() time.Time

	// NewIdentity returns a word that no operation has had, to tell operations apart by; nil for a random one.
	NewIdentity func() string

	// Decided is told of each plan that is made, applied or not; nil for nobody.
	Decided func(types.NamespacedName, *delivery.Plan)

	// others reads the metadata of Applications without the pull label from a cache.
	others client.Reader

	blocked     tally.Reasons
	losses      losses
	revocations revocations
	made        made
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

// Reconcile brings the Application that req names to its cluster, or off it: it observes, decides and applies. Something that
// only the API server could tell makes it decide once more.
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
		if met.created != nil {
			r.made.note(seen.Key, client.ObjectKeyFromObject(met.created))
			r.noteRestore(ctx, seen, met.created)
		}
		switch {
		case err != nil:
			return ctrl.Result{}, err
		case met.conflict:
			return ctrl.Result{RequeueAfter: retry.Conflict}, nil
		case met.exists:
			if err := seen.observeOwn(ctx); err != nil {
				return ctrl.Result{}, err
			}
			continue
		case met.refusal != nil:
			seen.Refusal = met.refusal
			continue
		}
		return result(plan.Wait), nil
	}
	return ctrl.Result{RequeueAfter: retry.Conflict}, nil
}

// decide makes a plan of what was observed. One that destroys something is made twice: the second time from what the API
// server has now, which seen is afterwards. It tells whether both come to the same, or the second destroys nothing.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (plan delivery.Plan, agreed bool, err error) {
	plan, err = r.decideOnce(ctx, seen)
	if err != nil || seen.Live || len(plan.Destroys()) == 0 {
		return plan, true, err
	}
	if present, err := r.observeLive(ctx, seen); err != nil || !present {
		return plan, false, err
	}
	second, err := r.decideOnce(ctx, seen)
	if err != nil {
		return second, false, err
	}
	same := slices.Equal(plan.Destroys(), second.Destroys())
	if !same && (second.Wait.After == 0 || second.Wait.After > behind) {
		second.Wait.After = behind
	}
	return second, same || len(second.Destroys()) == 0, nil
}

// decideOnce makes a plan, and reads what it lacks.
func (r *Reconciler) decideOnce(ctx context.Context, seen *observation) (delivery.Plan, error) {
	for {
		plan := delivery.Decide(seen.Facts, r.Options)
		if plan.Need == 0 {
			if r.Decided != nil {
				r.Decided(seen.Key, &plan)
			}
			return plan, nil
		}
		if err := r.observeMore(ctx, seen, plan.Need); err != nil {
			return plan, err
		}
	}
}

// result is when to look again.
func result(w delivery.Wait) ctrl.Result {
	if w.Backoff {
		return ctrl.Result{Requeue: true} //nolint:staticcheck // the one way to the queue's own pace without an error
	}
	return ctrl.Result{RequeueAfter: w.After}
}

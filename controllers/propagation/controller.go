package propagation

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/grants"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/tally"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// unseen is how often to look at an object that is not in the cache because it lacks the pull label.
const unseen = 5 * time.Second

// Reconciler brings one Application to its cluster. What it remembers is only what the hub has told of while it ran.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before anything is deleted.
	Live client.Reader

	// Grants says who may send what where.
	Grants *grants.Checker

	// Executor is the ServiceAccount of the clusters whose rights works need whose AppProject names none; the zero
	// value for none.
	Executor types.NamespacedName

	// Revocation says what becomes of a work whose Application has lost the right to it.
	Revocation RevocationOptions

	// Beside tells what travels beside Applications; nil where nothing does.
	Beside interface {
		// Left tells whether what the Applications of a work use will stay on the cluster without it.
		Left(ctx context.Context, w *workv1.ManifestWork) (bool, error)
	}

	// Events records what people should see on the Application.
	Events events.EventRecorder

	// Adopt says what becomes of an Application that is on its cluster already, where it does not say itself; one of
	// the Adopt… constants of package apis.
	Adopt string

	// Pauses tells what is paused.
	Pauses *pause.Reader

	// Move says what comes first when the target of an Application changes.
	Move MoveOptions

	// AfterRestore is one of AfterRestoreModes: what becomes of works whose Applications the hub has lost.
	AfterRestore string

	// others reads the metadata of Applications without the pull label from a cache.
	others client.Reader

	blocked     tally.Reasons
	losses      losses
	revocations revocations
	running     controller.Controller
}

// Reconcile brings the Application that req names to its cluster, or off it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{}
	err := r.Get(ctx, req.NamespacedName, app)
	var after time.Duration
	switch {
	case apierrors.IsNotFound(err):
		r.blocked.Set(blockedApplications, req.NamespacedName, "")
		err = r.removeOrphans(ctx, req.NamespacedName)
	case err == nil:
		after, err = r.propagate(ctx, app)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retry.Conflict}, nil
	}
	if errors.Is(err, errAgain) {
		return ctrl.Result{}, nil
	}
	if errors.Is(err, errLater) {
		return ctrl.Result{Requeue: true}, nil //nolint:staticcheck // the one way to the queue's own pace without an error
	}
	if w, ok := errors.AsType[waiting](err); ok {
		return ctrl.Result{RequeueAfter: time.Duration(w)}, nil
	}
	return ctrl.Result{RequeueAfter: after}, err
}

// act does what the Application asks for. It returns a Problem when that cannot be, or takes its time.
func (r *Reconciler) act(ctx context.Context, app *argocd.Application) (time.Duration, error) {
	revoked, err := r.revoke(ctx, app)
	if err != nil {
		return 0, err
	}
	after, err := r.follow(ctx, app)
	if err != nil {
		err = beside(err, revoked.kept)
	}
	return after, beside(err, revoked.pending)
}

// follow does what the Application asks for where it may be.
func (r *Reconciler) follow(ctx context.Context, app *argocd.Application) (time.Duration, error) {
	if !app.Pulled() { // the label says "false"
		switch {
		case app.DeletionTimestamp.IsZero():
			return 0, problemOr(r.releaseAll(ctx, app))
		case app.ReconcileSkipped() && wasOurs(app):
			return 0, r.finalizeReleased(ctx, app)
		}
		return 0, nil // its finalizers are for the hub's own Argo CD to deal with
	}
	if err := problemOr(r.paused(ctx, app)); err != nil {
		return 0, err
	}
	switch {
	case !app.DeletionTimestamp.IsZero() && app.ReconcileSkipped():
		return 0, r.end(ctx, app)
	case !app.DeletionTimestamp.IsZero():
		return 0, r.leftToArgoCD(ctx, app)
	case app.ToBeReleased():
		return 0, r.released(ctx, app)
	}
	return r.deliver(ctx, app)
}

// waiting says that nothing is wrong, and that nothing which is watched will tell when to go on: look again then.
type waiting time.Duration

func (w waiting) Error() string { return "look again after " + time.Duration(w).String() }

// errLater is the cause of what a person has to mend, and nothing that is watched will tell of: it is no failure.
var errLater = errors.New("tried again, ever slower")

// propagate does what the Application asks for, and says on it what keeps that from being done.
func (r *Reconciler) propagate(ctx context.Context, app *argocd.Application) (time.Duration, error) {
	after, err := r.act(ctx, app)
	problem, blocked := errors.AsType[*Problem](err)
	if err != nil && !blocked {
		return 0, err
	}
	r.blocked.Set(blockedApplications, client.ObjectKeyFromObject(app), problem.reason())
	if err := r.report(ctx, app, problem); err != nil {
		return 0, err
	}
	if problem != nil && problem.cause != nil {
		if wait, waits := errors.AsType[waiting](problem.cause); waits {
			return soonest(after, time.Duration(wait)), nil
		}
		return 0, problem.cause // nothing that is watched will tell when it is over: try again, ever slower
	}
	return after, nil
}

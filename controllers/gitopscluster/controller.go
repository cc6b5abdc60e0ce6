package gitopscluster

import (
	"context"
	"slices"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// Rights to Secrets, ConfigMaps and Roles are given by namespace: deploy/rbac/gitopscluster.yaml.
//
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=gitopsclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placements,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// rounds is how many plans are made of one GitOpsCluster at a time: each but the last meets something that was not known.
const rounds = 5

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the
// GitOpsCluster, unless it is one that does not.
const behind = time.Second

// Reconciler keeps the cluster Secrets of one GitOpsCluster. What it remembers is rebuilt by the next reconcile.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. It is asked before anything is removed.
	Live client.Reader

	// Events records what people should see on the GitOpsCluster.
	Events events.EventRecorder

	// Options are what is said for all GitOpsClusters.
	Options clusterimport.Options

	// IndexDecisions registers index.ByDecision, if nobody has yet.
	IndexDecisions func() error

	scopes  scopes
	waiting waiting
	dropped dropped
	pushers pushers
}

// Reconcile brings the cluster Secrets of the GitOpsCluster that req names up to date: it observes, decides and applies. Something
// that only the API server could tell makes it decide once more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil || seen.GitOpsCluster == nil {
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
		case met.more:
			if err := r.observeTaken(ctx, seen, met.taken); err != nil {
				return ctrl.Result{}, err
			}
			continue
		case plan.Backoff:
			return ctrl.Result{Requeue: true}, nil //nolint:staticcheck // the one way to the queue's own pace without an error
		}
		return ctrl.Result{RequeueAfter: plan.After}, nil
	}
	return ctrl.Result{RequeueAfter: retry.Conflict}, nil
}

// decide makes a plan of what was observed. One that destroys something is made twice: the second time from what the API
// server has now, which seen is afterwards. It tells whether both come to the same, or the second destroys nothing.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (plan clusterimport.Plan, agreed bool, err error) {
	plan, err = r.decideOnce(ctx, seen)
	if err != nil || seen.Live || len(plan.Destroys()) == 0 {
		return plan, true, err
	}
	if same, err := r.observeLive(ctx, seen); err != nil || !same {
		return plan, false, err
	}
	second, err := r.decideOnce(ctx, seen)
	if err != nil {
		return second, false, err
	}
	same := slices.Equal(plan.Destroys(), second.Destroys())
	if !same && (second.After == 0 || second.After > behind) {
		second.After = behind
	}
	return second, same || len(second.Destroys()) == 0, nil
}

// decideOnce makes a plan, and reads what it lacks.
func (r *Reconciler) decideOnce(ctx context.Context, seen *observation) (clusterimport.Plan, error) {
	for {
		plan := clusterimport.Decide(seen.Facts, r.Options)
		if len(plan.Ask) == 0 {
			return plan, nil
		}
		if err := r.observeUsers(ctx, seen, plan.Ask); err != nil {
			return plan, err
		}
	}
}

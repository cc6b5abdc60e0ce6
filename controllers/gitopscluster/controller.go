package gitopscluster

import (
	"context"
	"sync/atomic"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
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
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=gitopsclusters.apps.open-cluster-management.io,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

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

	// pruned is set while the API server drops a part of each status, and told once that has been said. What is known ends when the
	// CRD is replaced; what was said stays said until the API server keeps all.
	pruned, told atomic.Bool

	scopes  scopes
	waiting waiting
	dropped dropped
	pushers pushers
	older   older
	stood   stood
}

// Reconcile brings the cluster Secrets of the GitOpsCluster that req names up to date: it observes, decides and applies.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.scopes.endUnasked(func(account string) bool { return len(r.requests(ctx, client.MatchingFields{byAccount: account})) > 0 })
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil || seen.GitOpsCluster == nil {
		return ctrl.Result{}, err
	}
	return r.phases(seen).Run(ctx)
}

// phases are those of a GitOpsCluster that was observed.
func (r *Reconciler) phases(seen *observation) loop.Phases[*clusterimport.Plan] {
	return loop.Phases[*clusterimport.Plan]{
		Decide:      func(ctx context.Context) (*clusterimport.Plan, error) { return r.decide(ctx, seen) },
		ObserveLive: func(ctx context.Context, p *clusterimport.Plan) (bool, error) { return r.observeLive(ctx, seen, p) },
		Apply:       func(ctx context.Context, p *clusterimport.Plan) (loop.Outcome, error) { return r.apply(ctx, seen, p) },
		Wait:        func(p *clusterimport.Plan) ctrl.Result { return loop.Again(p.After, p.Backoff) },
	}
}

// decide makes a plan, and reads what it lacks.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (*clusterimport.Plan, error) {
	for {
		plan := clusterimport.Decide(seen.Facts, r.Options)
		if len(plan.Ask) == 0 {
			return &plan, nil
		}
		if err := r.observeUsers(ctx, seen, plan.Ask); err != nil {
			return nil, err
		}
	}
}

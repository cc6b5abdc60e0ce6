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

// A separate file grants the rights to Secrets, ConfigMaps and Roles by namespace: deploy/rbac/gitopscluster.yaml.
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

// Reconciler keeps the cluster Secrets of one GitOpsCluster up to date. The next reconcile can rebuild its memory.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache. Every removal first needs reads from Live.
	Live client.Reader

	// Events records events for users on the GitOpsCluster.
	Events events.EventRecorder

	// Options are the settings for all GitOpsClusters.
	Options clusterimport.Options

	// IndexDecisions registers index.ByDecision, unless the index is registered already.
	IndexDecisions func() error

	// pruned is set while the API server drops a part of each status. A new CRD resets pruned. told is set after the
	// event about the dropped part, until the API server keeps all fields.
	pruned, told atomic.Bool

	scopes  scopes
	waiting waiting
	dropped dropped
	pushers pushers
	older   older
	stood   stood
}

// Reconcile updates the cluster Secrets of the requested GitOpsCluster: it observes, decides and applies.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.scopes.endUnasked(func(account string) bool { return len(r.requests(ctx, client.MatchingFields{byAccount: account})) > 0 })
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil || seen.GitOpsCluster == nil {
		return ctrl.Result{}, err
	}
	return r.phases(seen).Run(ctx)
}

// phases returns the phases for an observed GitOpsCluster.
func (r *Reconciler) phases(seen *observation) loop.Phases[*clusterimport.Plan] {
	return loop.Phases[*clusterimport.Plan]{
		Decide:      func(ctx context.Context) (*clusterimport.Plan, error) { return r.decide(ctx, seen) },
		ObserveLive: func(ctx context.Context, p *clusterimport.Plan) (bool, error) { return r.observeLive(ctx, seen, p) },
		Apply:       func(ctx context.Context, p *clusterimport.Plan) (loop.Outcome, error) { return r.apply(ctx, seen, p) },
		Wait:        func(p *clusterimport.Plan) ctrl.Result { return loop.Requeue(p.After, p.Backoff) },
	}
}

// decide makes a plan, and reads the missing facts.
func (r *Reconciler) decide(ctx context.Context, seen *observation) (*clusterimport.Plan, error) {
	for {
		plan := clusterimport.Decide(seen.Facts, r.Options)
		if len(plan.NeedUsers) == 0 {
			return &plan, nil
		}
		if err := r.observeUsers(ctx, seen, plan.NeedUsers); err != nil {
			return nil, err
		}
	}
}

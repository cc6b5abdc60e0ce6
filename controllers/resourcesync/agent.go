package resourcesync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=applicationreports,verbs=list;watch

// Agent is the richest source: the reports of the agent add-on, on clusters with the add-on.
type Agent struct {
	// apps reads the Applications from the shared cache.
	apps client.Reader

	// reports is the cache of the reports, limited by budgets; see shrink. live reads the API server.
	reports cache.Cache
	budgets budgets
	live    client.Reader

	// Trees makes the cache keep the reports' trees of live resources. Facts does not need the trees.
	Trees bool
}

var _ Source = &Agent{}

// Name implements Source.
func (*Agent) Name() string { return "agent" }

// Facts implements Source. The hub decides which report counts: the report with the name of the Application's work. The
// report counts only if the report names the same Application.
func (a *Agent) Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error) {
	report, err := a.report(ctx, work.Key(app))
	if report == nil || err != nil {
		return nil, err
	}
	seen := appreport.Read(report, types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name})
	noteRejected(ctx, a.Name(), work.Key(app), report.ResourceVersion, "report.", seen.Rejected)
	if seen.Empty() {
		return nil, nil //nolint:nilnil // documented
	}
	return &observed.Facts{
		Source: a.Name(), UID: seen.UID, Version: seen.Version, ObservedAt: seen.ObservedAt, ReadAt: seen.ObservedAt,
		NotComparedSince: seen.NotComparedSince, Status: seen.Status, Complete: seen.Complete, Detailed: seen.Detailed,
	}, nil
}

// Tree returns the accepted part of an Application's live resources, the resources in Git first. Tree implements
// resourcetree.Reports, and returns nil unless Trees is set.
func (a *Agent) Tree(ctx context.Context, app *argocd.Application, inGit []argocd.ResourceStatus) ([]v1alpha1.TreeNode, error) {
	report, err := a.report(ctx, work.Key(app))
	if report == nil || err != nil || !a.Trees {
		return nil, err
	}
	key := types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
	nodes, rejected := appreport.Tree(report, key, inGit)
	if rejected {
		noteRejected(ctx, a.Name(), work.Key(app), report.ResourceVersion, "report.", []string{"tree"})
	}
	return nodes, nil
}

// report returns the named report, or nil if the report does not exist.
func (a *Agent) report(ctx context.Context, key types.NamespacedName) (*v1alpha1.ApplicationReport, error) {
	report := &v1alpha1.ApplicationReport{}
	err := a.reports.Get(ctx, key, report, client.UnsafeDisableDeepCopy)
	if err == nil && trimmed(report) {
		report = &v1alpha1.ApplicationReport{}
		err = a.live.Get(ctx, key, report)
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return report, nil
}

// Changes implements Source.
func (a *Agent) Changes(request func(types.NamespacedName) []reconcile.Request) source.Source {
	return source.Kind(a.reports, &v1alpha1.ApplicationReport{}, ofApplications[*v1alpha1.ApplicationReport](a.apps, request), reportedAnew())
}

// reportedAnew passes new and changed reports. A deleted report brings no new fact about the Application.
func reportedAnew() predicate.TypedPredicate[*v1alpha1.ApplicationReport] {
	return predicate.TypedFuncs[*v1alpha1.ApplicationReport]{
		UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.ApplicationReport]) bool {
			return e.ObjectOld.Generation != e.ObjectNew.Generation
		},
		DeleteFunc: func(event.TypedDeleteEvent[*v1alpha1.ApplicationReport]) bool { return false },
	}
}

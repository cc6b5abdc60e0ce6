package resourcetree

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/tree"
)

// Inventory returns the clusters' reports. resourcesync.Inventory implements Inventory.
type Inventory interface {
	Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error)
}

// view is the part of an Application visible to argocd-server.
type view struct {
	// resources are the resources in Git, as reported by a source of the inventory.
	resources []argocd.ResourceStatus

	// made are the live resources reported by the cluster's agent.
	made []v1alpha1.TreeNode

	// live is true if argocd-server may reach the resources on the cluster.
	live bool

	// unsure is true if the rights to reach the resources could not be read.
	unsure bool
}

// entry returns the view in Argo CD's encoding.
func (v *view) entry() []byte { return tree.Encode(v.resources, v.live, v.made...) }

// look reads the view of an Application. The Application's status on the hub does not count: a user with write access
// to the Application may write the status too.
func (r *Reconciler) look(ctx context.Context, app *argocd.Application) (*view, error) {
	facts, err := r.Inventory.Facts(ctx, app)
	if facts == nil || err != nil || !facts.Detailed {
		return &view{}, err
	}
	v := &view{resources: facts.Status.Resources}
	scope, err := r.Access.scope(ctx, app)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The rights of the Application cannot be read: argocd-server gets no access to its resources")
		v.unsure = true
	}
	if scope != nil {
		r.open(ctx, app, v, scope)
	}
	return v, nil
}

// open makes a view live, with the resources permitted by the Application's project. A cluster may report resources of
// other tenants: Argo CD lists every resource in Git, also resources that Argo CD may not apply.
func (r *Reconciler) open(ctx context.Context, app *argocd.Application, v *view, scope *authorization.Scope) {
	v.live = true
	v.resources = slices.DeleteFunc(slices.Clone(v.resources), func(s argocd.ResourceStatus) bool {
		return !scope.Permits(authorization.Resource{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
	})
	if r.Access.Reports == nil {
		return
	}
	made, err := r.Access.Reports.Tree(ctx, app, v.resources)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The report on the Application's live resources cannot be read")
	}
	v.made = slices.DeleteFunc(made, func(n v1alpha1.TreeNode) bool {
		return !scope.Permits(authorization.Resource{Group: n.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name})
	})
}

package resourcetree

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Reports is where clusters report their live resources; resourcesync.Agent is one.
type Reports interface {
	// Tree is what can be believed of the live resources of an Application.
	Tree(ctx context.Context, app *argocd.Application) ([]v1alpha1.TreeNode, error)

	// Changes makes requests for the Applications of reports that change.
	Changes(request func(types.NamespacedName) []reconcile.Request) source.Source
}

// ofReport is the request for an Application itself.
func ofReport(app types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: app}}
}

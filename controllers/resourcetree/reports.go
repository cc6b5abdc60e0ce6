package resourcetree

import (
	"context"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Reports is where clusters report their live resources; resourcesync.Agent is one.
type Reports interface {
	// Tree is what can be believed of the live resources of an Application with these resources in Git. The result is the caller's.
	Tree(ctx context.Context, app *argocd.Application, inGit []argocd.ResourceStatus) ([]v1alpha1.TreeNode, error)
}

package resourcetree

import (
	"context"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Reports returns the clusters' reports on live resources. resourcesync.Agent implements Reports.
type Reports interface {
	// Tree returns the accepted part of an Application's live resources, for the given resources in Git. The caller may
	// change the result.
	Tree(ctx context.Context, app *argocd.Application, inGit []argocd.ResourceStatus) ([]v1alpha1.TreeNode, error)
}

// Package hubapp makes all writes of a process to hub Applications, for the controllers that have something to say there:
// propagation, dependencies and status. Each sets its own conditions only (argocd.SetConditions).
package hubapp

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Write sends a patch of the Application that was read, and tells whether there was something to send. It leaves the
// Application, which may be the cache's, alone. The error is a conflict where another version was read than the hub has and
// the patch is bound to that, and where another Application has the name now.
func Write(ctx context.Context, c client.Writer, read *argocd.Application, patch *argocd.Patch) (bool, error) {
	data := patch.Data(read)
	if data == nil {
		return false, nil
	}
	target := &argocd.Application{}
	target.Namespace, target.Name = read.Namespace, read.Name
	return true, c.Patch(ctx, target, client.RawPatch(types.MergePatchType, data))
}

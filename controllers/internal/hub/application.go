package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// WriteApplication makes all writes of Towline to hub Applications, for the controllers with conditions on the
// Application: propagation, dependencies and status. Each controller sets only its own conditions
// (argocd.SetConditions).
//
// WriteApplication sends a patch for the Application as read, and returns whether the patch was not empty.
// WriteApplication does not change read, because read may belong to the cache. The error is a conflict in two cases. In
// the first case, the hub has a different version, and the patch is bound to the version as read. In the second case, a
// new Application has the name.
func WriteApplication(ctx context.Context, c client.Writer, read *argocd.Application, patch *argocd.Patch) (bool, error) {
	data := patch.Data(read)
	if data == nil {
		return false, nil
	}
	target := &argocd.Application{}
	target.Namespace, target.Name = read.Namespace, read.Name
	return true, c.Patch(ctx, target, client.RawPatch(types.MergePatchType, data))
}

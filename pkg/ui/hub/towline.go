package hub

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/reading"
)

// explainer returns an Explainer with the flags of the hub's Towline. The flags come from its Deployment, or are the
// defaults if the Deployment is unreadable or missing.
func (r *reader) explainer(ctx context.Context, flags Flags) (*propagation.Explainer, error) {
	f := reading.Flags{ArgoCDNamespace: flags.ArgoCDNamespace}
	// A user without access to the Deployment gets the defaults: no tenant needs this right.
	if err := f.Read(ctx, r.WithWatch); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return f.Explainer(r)
}

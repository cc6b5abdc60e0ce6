package propagation

import (
	"context"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// permitted returns a Problem when the Application may not go where its spec asks to go. A work that was sent before
// then stays as it is; revoke looks at what that one carries.
func (r *Reconciler) permitted(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) error {
	request, err := authorization.ReadSpec(app)
	if err != nil {
		return renderProblem(err)
	}
	refusal, err := r.Grants.Check(ctx, app, request, cluster)
	if err != nil || refusal == nil {
		return err
	}
	return forbidden(refusal)
}

// withheld is the problem with the operation that a permitted Application requests; nil when it may travel, and when
// there is none. It is held where it is, so that it can be taken back or terminated, or go when it is permitted; all
// else of the Application goes on.
func (r *Reconciler) withheld(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster,
) (*Problem, error) {
	if app.Operation == nil {
		return nil, nil
	}
	request, err := authorization.Read(app)
	if err != nil {
		return operationProblem(err), nil
	}
	refusal, err := r.Grants.Check(ctx, app, request, cluster)
	if err != nil || refusal == nil {
		return nil, err
	}
	p := forbidden(refusal)
	p.Message = "the requested operation is held back, and can be terminated: " + p.Message
	return p, nil
}

// grantedBy is the ManagedClusterSetBinding by which an Application may go to its cluster: its work remembers that where a
// right that is lost removes it, since another binding that is there says nothing about the one that is missing.
func (r *Reconciler) grantedBy(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster, existing *workv1.ManifestWork,
) (string, error) {
	if !r.Revocation.Delete {
		return "", nil
	}
	before := ""
	if existing != nil {
		before = existing.Annotations[apis.AnnotationGrantedBy]
	}
	return r.Grants.GrantedBy(ctx, app.Namespace, cluster, before)
}

func forbidden(refusal *authorization.Refusal) *Problem {
	return &Problem{Reason: refusal.Reason, Message: refusal.Message, Condition: apis.ConditionPropagationForbiddenError}
}

func operationProblem(err error) *Problem {
	return problemf(apis.ReasonOperationInvalid, "the requested operation cannot be read: %s: request it again", err)
}

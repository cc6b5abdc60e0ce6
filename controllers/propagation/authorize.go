package propagation

import (
	"context"
	"errors"
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// authorize returns a Problem when the Application may not go where it asks to go. A work that was sent before then
// stays as it is; where DeleteOnRevocation says so, it goes.
func (r *Reconciler) authorize(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) error {
	err := r.permitted(ctx, app, cluster)
	p, refused := errors.AsType[*Problem](err)
	if !refused || p.Condition != apis.ConditionPropagationForbiddenError || !r.DeleteOnRevocation {
		return err
	}
	if err := r.revoke(ctx, app); err != nil {
		return err
	}
	return p
}

// permitted returns a Problem when the Application may not go where it asks to go.
func (r *Reconciler) permitted(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) error {
	request, err := authorization.Read(app)
	if err != nil {
		return renderProblem(err)
	}
	refusal, err := r.Grants.Check(ctx, app, request, cluster)
	if err != nil || refusal == nil {
		return err
	}
	return &Problem{Reason: refusal.Reason, Message: refusal.Message, Condition: apis.ConditionPropagationForbiddenError}
}

// revoke takes an Application off the cluster that it may not use any more. The cache may be behind with any of the
// objects that decide, and a workload is at stake: all of them are read anew, and one that cannot be read keeps it.
func (r *Reconciler) revoke(ctx context.Context, app *argocd.Application) error {
	existing, err := r.existing(ctx, app)
	if err != nil || existing == nil || !existing.DeletionTimestamp.IsZero() {
		return err
	}
	now, cluster := &argocd.Application{}, &clusterv1.ManagedCluster{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(app), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.UID != app.UID || now.Cluster() != app.Cluster() {
		return waiting(behind)
	}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: app.Cluster()}, cluster); err != nil {
		return err
	}
	request, err := authorization.Read(now)
	if err != nil {
		return renderProblem(err)
	}
	refusal, err := r.Grants.Past(r.Live).Check(ctx, now, request, cluster)
	if err != nil {
		return err
	}
	if refusal == nil {
		return waiting(behind)
	}
	current, err := r.current(ctx, app)
	if err != nil || current == nil {
		return err
	}
	return r.deleteWork(ctx, current, app)
}

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the
// Application, unless it is one that does not.
const behind = time.Second

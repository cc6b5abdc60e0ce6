package propagation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// observeTarget reads the facts about the Application's right to the target: the granted rights, the ServiceAccount of
// the work, and the claimants of the same target.
func (r *Reconciler) observeTarget(ctx context.Context, seen *observation) (err error) {
	seen.Refused, seen.OperationRefused, seen.ReadsRefused, seen.GrantedBy = nil, nil, nil, ""
	request, err := authorization.ReadSpec(seen.App)
	if seen.Unreadable = err; err == nil {
		if err = r.observeGrant(ctx, seen, request); err != nil {
			return err
		}
	}
	if err := r.observeExecutor(ctx, seen, cmp.Or(request.Project, argocd.DefaultProject)); err != nil {
		return err
	}
	seen.observeWatch(ctx)
	return r.observeClaimants(ctx, seen)
}

// observeWatch reads whether a work of another Application lets the work agent watch the place of the Application. A
// further work of the Application itself is about to end. Without the indexes of a cache, the own work stays as it is.
func (seen *observation) observeWatch(ctx context.Context) {
	if _, direct := seen.cache.(*index.Direct); direct {
		seen.Watched = seen.Own != nil && work.Polled(seen.Own)
		return
	}
	watching := slices.DeleteFunc(index.WorksWatching(ctx, seen.cache, work.WatchPlace(seen.App)), func(w *workv1.ManifestWork) bool {
		return slices.ContainsFunc(seen.Others, func(other *workv1.ManifestWork) bool { return other.UID == w.UID })
	})
	seen.Watched = work.Watched(work.Key(seen.App).Name, seen.Own, watching)
}

// observeGrant checks the requests of the Application. With Revocation.Delete, the work stores the name of the granting
// ManagedClusterSetBinding. A later check looks for the stored binding, because a second existing binding says nothing
// about the first binding.
func (r *Reconciler) observeGrant(ctx context.Context, seen *observation, request authorization.Request) error {
	cluster := seen.clusters[seen.App.Cluster()]
	if cluster == nil {
		return nil
	}
	before := ""
	if seen.Own != nil {
		before = seen.Own.Annotations[apis.AnnotationGrantedBy]
	}
	rights, err := seen.grants.Rights(ctx, seen.App, request.Project, cluster, before)
	if err != nil {
		return err
	}
	seen.Refused = rights.Refusal(request)
	if asked, err := authorization.Read(seen.App); err == nil && seen.App.Operation != nil { // an unreadable operation is not sent
		seen.OperationRefused = rights.Refusal(asked)
	}
	if r.Options.Revocation.Delete {
		seen.GrantedBy = rights.GrantedBy
	}
	seen.judgeReads(rights, request)
	return nil
}

// refusal returns the refusal of the request of an Application's spec. It returns nil if the request is permitted or
// unreadable, or if the cluster does not exist.
func (seen *observation) refusal(ctx context.Context, app *argocd.Application) (*authorization.Refusal, error) {
	request, err := authorization.ReadSpec(app)
	cluster := seen.clusters[app.Cluster()]
	if err != nil || cluster == nil {
		return nil, nil //nolint:nilerr // an invalid spec is not sent, and a check of the decision names the fault
	}
	return seen.grants.Check(ctx, app, request, cluster)
}

// observeExecutor reads the ServiceAccount for the apply of the work: the account of the AppProject, or the hub's
// default.
func (r *Reconciler) observeExecutor(ctx context.Context, seen *observation, named string) error {
	project, err := r.Grants.Project(ctx, named)
	if err != nil {
		return err
	}
	account, invalid := authorization.ExecutorOf(project, r.Executor)
	if invalid != nil {
		seen.ExecutorInvalid = fmt.Sprintf("AppProject %s/%s, annotation %s: %s",
			project.Namespace, project.Name, apis.AnnotationExecutor, invalid)
	}
	seen.Executor = account
	return nil
}

// observeClaimants reads the further Applications with the same target.
func (r *Reconciler) observeClaimants(ctx context.Context, seen *observation) error {
	seen.Claimants = nil
	for _, key := range index.ApplicationsOfTarget(ctx, r.Client, seen.App) {
		if key == seen.Key {
			continue
		}
		app, err := hub.Get(ctx, seen.reader, key, &argocd.Application{})
		if err != nil {
			return err
		}
		if app == nil {
			continue
		}
		c := delivery.Claimant{App: app}
		if c.Work, err = hub.Get(ctx, seen.reader, work.Key(app), &workv1.ManifestWork{}); err != nil {
			return err
		}
		if c.Refused, err = seen.refusal(ctx, app); err != nil {
			return err
		}
		seen.Claimants = append(seen.Claimants, c)
	}
	return nil
}

// observeRevoked checks for each work whether the content may stay on the cluster, and remembers since when a rule
// refuses the content. Without Revocation.Delete, observeRevoked reads nothing.
func (r *Reconciler) observeRevoked(ctx context.Context, seen *observation) error {
	if !r.Options.Revocation.Delete {
		return nil
	}
	before := seen.Revoked
	seen.Revoked = map[types.UID]delivery.Revocation{}
	r.revocations.retain(seen.Key, seen.works())
	for _, w := range seen.works() {
		if seen.past && before[w.UID].Since.IsZero() {
			seen.Revoked[w.UID] = before[w.UID] // if the cache permits a work, the work stays
			continue
		}
		carried, _ := work.Carried(w)
		refusal, err := seen.refusedThere(ctx, w, carried)
		if err != nil {
			return err
		}
		if refusal == nil || refusal.Missing != "" || !w.DeletionTimestamp.IsZero() {
			r.revocations.forget(seen.Key, w.UID)
			seen.Revoked[w.UID] = delivery.Revocation{Refusal: refusal}
			continue
		}
		phase, since := r.revocations.judge(seen.Key, w.UID, seen.Now, r.Options.Revocation.WithDefaults())
		seen.Revoked[w.UID] = delivery.Revocation{Refusal: refusal, Since: since, TooMany: phase == tooMany}
	}
	return nil
}

// refusedThere returns the refusal of an Application in a work on the cluster of the work; nil if permitted. Without a
// readable Application, carried is nil, and only the target counts. Without an existing cluster, there is no refusal.
func (seen *observation) refusedThere(
	ctx context.Context, w *workv1.ManifestWork, carried *argocd.Application,
) (*authorization.Refusal, error) {
	cluster := seen.clusters[w.Namespace]
	if cluster == nil {
		return nil, nil
	}
	there := work.ApplicationOn(seen.App, w)
	var request *authorization.Request
	if carried != nil {
		there.Annotations[apis.AnnotationAppNamespace] = carried.Namespace
		if read, err := authorization.ReadSent(carried); err == nil {
			read.Sources = work.RepositoriesOf(w, seen.App, seen.Clusters[w.Namespace].AgentAddress(), read.Sources)
			request = &read
		}
	}
	return seen.grants.CheckSent(ctx, there, request, cluster, w.Annotations[apis.AnnotationGrantedBy])
}

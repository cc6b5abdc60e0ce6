package propagation

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/grants"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the
// Application, unless it is one that does not.
const behind = time.Second

// lasting is how long a refusal has to last before a workload goes for it. The objects that decide are not written all
// at once: a cluster that passes from one PlacementDecision to the next is in neither for a moment, and an AppProject
// that is replaced is gone for one.
const lasting = 2 * time.Second

// revoke takes an Application off the clusters where it may not be any more, by what each of its works carries: what
// the Application asks for now may be a slip, and does not run anywhere. So it comes before all that the Application's
// author decides, a pause, a release or another target: none of them keeps what lost its right. It returns a Problem, or
// how long to wait, until the deletions have been asked for: as pending where that is not about the cluster that the
// Application is to be on, so that one which takes its time to answer holds nothing up on another, and where no cluster is
// to be waited for.
func (r *Reconciler) revoke(ctx context.Context, app *argocd.Application) (pending, err error) {
	if !r.DeleteOnRevocation {
		return nil, nil
	}
	works, err := r.everywhere(ctx, app)
	if err != nil {
		return nil, err
	}
	for i := range works {
		refused := r.revokeWork(ctx, app, &works[i])
		_, problem := errors.AsType[*Problem](refused)
		_, waits := errors.AsType[waiting](refused)
		switch {
		case refused == nil:
		case !problem && !waits:
			return nil, refused
		case isSent(app) && work.Key(app) == client.ObjectKeyFromObject(&works[i]):
			err = refused
		case pending == nil || waits:
			pending = refused
		}
	}
	if isSent(app) || isForced(app) {
		return pending, err
	}
	return nil, pending // nothing that is refused is let go of
}

// isForced tells whether the Application is being deleted, is to be let go of by no release, and its clusters are not to be
// waited for.
func isForced(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && !app.DeletionTimestamp.IsZero() && app.ToBeForced() &&
		!app.ToBeReleased() && app.Cluster() != ""
}

// isSent tells whether the Application asks for a work, rather than for the end of those that it has.
func isSent(app *argocd.Application) bool {
	return app.Pulled() && app.DeletionTimestamp.IsZero() && !app.ToBeReleased() && checkApplication(app) == nil
}

// everywhere are all works of an Application, its own among them even if it has lost its annotations.
func (r *Reconciler) everywhere(ctx context.Context, app *argocd.Application) ([]workv1.ManifestWork, error) {
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil || !canBeSomewhere(app) {
		return works, err
	}
	own, err := r.existing(ctx, app)
	if err != nil || own == nil || !work.Carries(own, app) ||
		slices.ContainsFunc(works, func(w workv1.ManifestWork) bool { return w.UID == own.UID }) {
		return works, err
	}
	return append(works, *own.DeepCopy()), nil
}

// revokeWork takes the Application off one cluster. The cache may be behind with any of the objects that decide, and
// a workload is at stake: all of them are read anew, and one that cannot be read keeps it.
func (r *Reconciler) revokeWork(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) error {
	if !w.DeletionTimestamp.IsZero() {
		r.refusals.Delete(w.UID)
		return nil
	}
	refusal, err := refusedThere(ctx, r.Client, r.Grants, app, w)
	if refusal == nil || err != nil {
		r.refusals.Delete(w.UID)
		return err
	}
	since, _ := r.refusals.LoadOrStore(w.UID, r.now())
	if left := lasting - r.now().Sub(since.(time.Time)); left > 0 {
		return waiting(left)
	}
	now, live := &argocd.Application{}, &workv1.ManifestWork{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(app), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(w), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.UID != app.UID || live.UID != w.UID {
		return waiting(behind)
	}
	refusal, err = refusedThere(ctx, r.Live, r.Grants.Past(r.Live), now, live)
	if err != nil {
		return err
	}
	if refusal == nil {
		r.refusals.Delete(w.UID)
		return waiting(behind)
	}
	return r.takeBack(ctx, now, live, refusal)
}

// takeBack asks for the deletion of a work that may not be where it is.
func (r *Reconciler) takeBack(
	ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, refusal *authorization.Refusal,
) error {
	if held, err := r.Pauses.Cluster(ctx, w.Namespace); err != nil || held {
		return err // its end wakes the Application
	}
	asked, err := r.remove(ctx, app, w, true)
	if err != nil {
		return err
	}
	if !asked {
		p := forbidden(refusal)
		p.Message = "being taken off cluster " + w.Namespace + ": " + p.Message
		return p
	}
	r.Events.Eventf(app, w, corev1.EventTypeWarning, apis.ReasonRevoked, "Revoke",
		"cluster %s was asked to remove the Application, which may not be there any more: %s", w.Namespace, refusal.Message)
	return nil
}

// refusedThere is the refusal of what a work carries, on the cluster that it is for; nil when it may be there. Of a
// work that carries a request, or what cannot be read, only the place is known. Nothing is refused on a cluster that
// does not exist.
func refusedThere(
	ctx context.Context, c client.Reader, grants *grants.Checker, app *argocd.Application, w *workv1.ManifestWork,
) (*authorization.Refusal, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Name: w.Namespace}, cluster); gone.Is(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	there := work.At(app, w)
	held, ok := work.Carried(w)
	if !ok {
		return grants.CheckPlace(ctx, there, cluster)
	}
	there.Annotations[apis.AnnotationAppNamespace] = held.Namespace
	request, err := authorization.ReadSpec(held)
	if err != nil {
		return grants.CheckPlace(ctx, there, cluster)
	}
	return grants.Check(ctx, there, request, cluster)
}

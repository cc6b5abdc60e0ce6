package propagation

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// MoveOptions say how Applications change clusters.
type MoveOptions struct {
	// Order is what comes first where the Application does not say: apis.MoveNewFirst or apis.MoveOldFirst; empty
	// for the former.
	Order string

	// Timeout is how long the old cluster keeps an Application that has been applied on the new one and is not
	// healthy there; 0 for no longer than that.
	Timeout time.Duration
}

// oldFirst tells whether an Application must be off its old cluster before it is sent to the new one.
func (o MoveOptions) oldFirst(app *argocd.Application) bool {
	return cmp.Or(app.Annotations[apis.AnnotationMoveOrder], o.Order) == apis.MoveOldFirst
}

// stale are the works that carried the Application before: to another cluster, or under the UID of an earlier
// Application of its name.
func (r *Reconciler) stale(ctx context.Context, app *argocd.Application) ([]workv1.ManifestWork, error) {
	return r.worksBut(ctx, client.ObjectKeyFromObject(app), work.Key(app))
}

// clearTheWay is for an Application that has no work yet. It takes one that must not run twice off its old cluster. It
// does not before the hub has said that it would take the new work, and not while the new cluster is not available: it
// would run nowhere. It returns a Problem while the old cluster has it, or the new one removes an earlier one.
func (r *Reconciler) clearTheWay(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster, executor types.NamespacedName,
) error {
	stale, err := r.stale(ctx, app)
	if err != nil {
		return err
	}
	if p := leaving(stale, app); p != nil {
		return p
	}
	if !r.Move.oldFirst(app) {
		return nil
	}
	there := elsewhere(stale, app) // what the cluster itself has is the new one's too, and must not be without an owner
	if len(there) == 0 {
		return nil
	}
	if err := r.rehearse(ctx, app, executor); err != nil {
		return err
	}
	if p := detained(app, there, cluster); p != nil {
		return p
	}
	errs := make([]error, len(there))
	for i := range there {
		_, errs[i] = r.remove(ctx, app, &there[i], false)
	}
	if err := joined(errs); err != nil {
		return err
	}
	notice := moving(app, there, "it is sent there when %s has removed it")
	return problemOr(notice, r.tellOperations(ctx, app, there, notice))
}

// detained is what to tell of an Application that stays where it is because the cluster that it is to go to cannot take
// it; nil when that can, or no old cluster can keep it any more. The cluster's return wakes the reconcile that goes on.
func detained(app *argocd.Application, there []workv1.ManifestWork, cluster *clusterv1.ManagedCluster) *Problem {
	away := managedcluster.Unreachable(cluster)
	kept := notGoing(there)
	if away == "" || len(kept) == 0 {
		return nil
	}
	p := moving(app, kept, "%s keeps it as it is until that cluster can take it")
	p.Message += "; " + strings.TrimSuffix(away, ".") + ". To change it where it is, name its old cluster in the annotation " + apis.AnnotationCluster +
		" again; to send it all the same, set the annotation " + apis.AnnotationMoveOrder + " to " + apis.MoveNewFirst
	return p
}

// rehearse returns a Problem when the Application cannot have a work.
func (r *Reconciler) rehearse(ctx context.Context, app *argocd.Application, executor types.NamespacedName) error {
	desired, err := work.Render(app, work.Requests{})
	if err != nil {
		return renderProblem(err)
	}
	work.ExecuteAs(desired, executor)
	key := client.ObjectKeyFromObject(desired).String()
	return writeProblem(client.IgnoreAlreadyExists(r.Create(ctx, desired, client.DryRunAll)), key)
}

// removeStale deletes the works that carried this Application before, once current has taken their place: on the
// same cluster when it has been applied, so that the Application there has a new owner before it loses the old one;
// on another one when it is healthy where it is now, or has not become so in time. It returns when to look again;
// zero for not before something changes.
func (r *Reconciler) removeStale(ctx context.Context, app *argocd.Application, current *workv1.ManifestWork) (time.Duration, error) {
	stale, err := r.stale(ctx, app)
	if err != nil || len(stale) == 0 {
		return 0, err
	}
	if !applied(current) {
		return 0, problemOr(moving(app, elsewhere(stale, app), "%s keeps it until then"), nil)
	}
	left := r.Move.left(app, current, r.now())
	errs := make([]error, len(stale))
	for i := range stale {
		errs[i] = r.removeStaleWork(ctx, app, &stale[i], left)
	}
	if err := joined(errs); err != nil {
		return left, err
	}
	if left > 0 {
		return left, problemOr(moving(app, elsewhere(stale, app), "%s keeps it until it is healthy there, or for "+r.Move.Timeout.String()), nil)
	}
	others := elsewhere(stale, app)
	notice := moving(app, others, "waiting for %s to remove it")
	return 0, problemOr(notice, r.tellOperations(ctx, app, others, notice))
}

func (r *Reconciler) removeStaleWork(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, left time.Duration) error {
	switch {
	case w.Namespace == app.Cluster(): // the Application there is not to change: it is the current work's
		return r.deleteWork(ctx, w, app)
	case left > 0:
		return nil
	}
	_, err := r.remove(ctx, app, w, false)
	return err
}

// left is how long the old cluster keeps an Application that has been applied on the new one.
func (o MoveOptions) left(app *argocd.Application, current *workv1.ManifestWork, now time.Time) time.Duration {
	seen := feedback.Parse(&current.Status, work.Identifier(app))
	if seen.Status.Health.Status == "Healthy" {
		return 0
	}
	return max(0, o.Timeout-now.Sub(current.CreationTimestamp.Time))
}

// elsewhere are the works on other clusters than the Application's own.
func elsewhere(stale []workv1.ManifestWork, app *argocd.Application) []workv1.ManifestWork {
	return slices.DeleteFunc(slices.Clone(stale), func(w workv1.ManifestWork) bool { return w.Namespace == app.Cluster() })
}

// notGoing are those works whose deletion has not been asked for.
func notGoing(works []workv1.ManifestWork) []workv1.ManifestWork {
	return slices.DeleteFunc(slices.Clone(works), func(w workv1.ManifestWork) bool { return !w.DeletionTimestamp.IsZero() })
}

// moving is what to tell of an Application that others have as well; nil when there are none. format has a place for
// their names.
func moving(app *argocd.Application, others []workv1.ManifestWork, format string) *Problem {
	if len(others) == 0 {
		return nil
	}
	var names []string
	for i := range others {
		names = append(names, "cluster "+others[i].Namespace)
	}
	p := noticef(apis.ConditionMoveWarning, apis.ReasonMoving, "moving to cluster %s: "+format, app.Cluster(), strings.Join(names, ", "))
	p.Message += obstacles(others)
	return p
}

// soonest is the shorter of two waits, where zero is for ever.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

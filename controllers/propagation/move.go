package propagation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
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
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil {
		return nil, err
	}
	current := work.Key(app)
	return slices.DeleteFunc(works, func(w workv1.ManifestWork) bool {
		return client.ObjectKeyFromObject(&w) == current
	}), nil
}

// clearTheWay takes an Application that must not run twice off its old cluster before it has a work on the new one.
// It returns what to tell while that has not happened.
func (r *Reconciler) clearTheWay(ctx context.Context, app *argocd.Application) (*Problem, error) {
	if !r.Move.oldFirst(app) {
		return nil, nil
	}
	stale, err := r.stale(ctx, app)
	if err != nil {
		return nil, err
	}
	var there []workv1.ManifestWork
	for i := range stale {
		if stale[i].Namespace == app.Cluster() {
			continue // it is the new one's too, and must not be without an owner
		}
		if err := r.deleteWork(ctx, &stale[i], app); err != nil {
			return nil, err
		}
		there = append(there, stale[i])
	}
	if len(there) == 0 {
		return nil, nil
	}
	return moving(app, there, "it is sent there when %s has removed it"), nil
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
	left := r.Move.left(app, current, time.Now())
	for i := range stale {
		if stale[i].Namespace == app.Cluster() || left == 0 {
			if err := r.deleteWork(ctx, &stale[i], app); err != nil {
				return 0, fmt.Errorf("delete ManifestWork of an earlier target: %w", err)
			}
		}
	}
	if left > 0 {
		return left, problemOr(moving(app, elsewhere(stale, app), "%s keeps it until it is healthy there, or for "+r.Move.Timeout.String()), nil)
	}
	return 0, problemOr(moving(app, elsewhere(stale, app), "waiting for %s to remove it"), nil)
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
	return noticef(apis.ConditionMoveWarning, apis.ReasonMoving, "moving to cluster %s: "+format, app.Cluster(), strings.Join(names, ", "))
}

// soonest is the shorter of two waits, where zero is for ever.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

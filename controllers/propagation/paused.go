package propagation

import (
	"context"
	"errors"

	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// paused returns what to tell of an Application for which no work is written now; nil when that is not so. Nobody
// waits for the answer to a refresh meanwhile: there is none.
func (r *Reconciler) paused(ctx context.Context, app *argocd.Application) (*Problem, error) {
	by, err := r.Pauses.By(ctx, app)
	if err != nil || by == "" {
		return nil, err
	}
	if app.Refresh() != "" {
		err = r.dropRefresh(ctx, app, "a refresh was asked for and dropped: "+pausedBy(by))
		if err != nil {
			return nil, err
		}
		return nil, errAgain
	}
	what := "what changes on the hub waits"
	if !app.DeletionTimestamp.IsZero() {
		what = "its deletion waits"
	}
	return pausedNotice(by, what), nil
}

// unheld returns a Problem when a work is not to be written, because its cluster is paused.
func (r *Reconciler) unheld(ctx context.Context, w *workv1.ManifestWork) error {
	held, err := r.Pauses.Cluster(ctx, w.Namespace)
	if err != nil || !held {
		return err
	}
	p := pausedNotice("Namespace "+w.Namespace, "what is to go from there waits")
	p.cause = waiting(unseen)
	return p
}

func pausedBy(by string) string {
	return "paused by the annotation " + apis.AnnotationPaused + " on " + by
}

func pausedNotice(by, what string) *Problem {
	return noticef(apis.ConditionPausedWarning, apis.ReasonPaused,
		"%s: %s, and what the cluster reports is still shown", pausedBy(by), what)
}

// releasePaused returns what to tell of an Application that is to be let go of while it, or a cluster that has it, is
// paused, and the works that no pause keeps; nil when nothing is paused. Not every end of such a pause is watched: an
// Application that is let go of may have lost its label, or name no cluster.
func (r *Reconciler) releasePaused(
	ctx context.Context, app *argocd.Application, works []workv1.ManifestWork,
) (p *Problem, free []workv1.ManifestWork, err error) {
	if len(works) == 0 {
		return nil, nil, nil
	}
	by, err := r.Pauses.OnHub(ctx, app)
	if err != nil {
		return nil, nil, err
	}
	if by == "" {
		for i := range works {
			held, err := r.Pauses.ByCluster(ctx, works[i].Namespace)
			switch {
			case err != nil:
				return nil, nil, err
			case held != "":
				by = held
			default:
				free = append(free, works[i])
			}
		}
	}
	if by == "" {
		return nil, free, nil
	}
	p = pausedNotice(by, "its release waits")
	p.cause = waiting(unseen)
	return p, free, nil
}

// errAgain ends a reconcile whose own write wakes the next one.
var errAgain = errors.New("written: the change wakes the next reconcile")

// WatchSets lets ApplicationSets pause their Applications. It comes after SetupWithManager, and once the hub serves
// pause.Kinds: a hub may do without them, or get them later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	return r.Pauses.Watch(mgr, r.running, r.applicationsOfSet)
}

func (r *Reconciler) applicationsOfSet(ctx context.Context, obj client.Object) []reconcile.Request {
	return requests(index.ApplicationsOfSet(ctx, r, client.ObjectKeyFromObject(obj)))
}

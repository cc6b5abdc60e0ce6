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
	"github.com/towline-io/towline/pkg/work"
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

// unheld returns a Problem when a work is not to be written, because its cluster is paused. The end of the pause wakes the
// Applications of all works there.
func (r *Reconciler) unheld(ctx context.Context, w *workv1.ManifestWork) error {
	held, err := r.Pauses.Cluster(ctx, w.Namespace)
	if err != nil || !held {
		return err
	}
	return pausedNotice("ManagedCluster "+w.Namespace, "what is to go from there waits")
}

func pausedBy(by string) string {
	return "paused by the annotation " + apis.AnnotationPaused + " on " + by
}

func pausedNotice(by, what string) *Problem {
	return noticef(apis.ConditionPausedWarning, apis.ReasonPaused,
		"%s: %s, and what the cluster reports is still shown", pausedBy(by), what)
}

// releasePaused returns what to tell of an Application that is to be let go of while it, or a cluster that has it, is
// paused, and the works that no pause keeps; nil when nothing is paused. The end of a pause wakes it, be it without the
// label or a cluster: it is found by the works that it has.
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
	return pausedNotice(by, "its release waits"), free, nil
}

// errAgain ends a reconcile whose own write wakes the next one.
var errAgain = errors.New("written: the change wakes the next reconcile")

// WatchSets lets ApplicationSets pause their Applications. It comes after SetupWithManager, and once the hub serves
// pause.Kinds: a hub may do without them, or get them later.
func (r *Reconciler) WatchSets(mgr ctrl.Manager) error {
	return r.Pauses.Watch(mgr, r.running, r.applicationsOfSet)
}

// applicationsOfSet are the Applications of an ApplicationSet, and those that have works and are not for pull any more.
func (r *Reconciler) applicationsOfSet(ctx context.Context, obj client.Object) []reconcile.Request {
	keys := index.ApplicationsOfSet(ctx, r, client.ObjectKeyFromObject(obj))
	ofSet := client.MatchingLabels{apis.LabelApplicationSetHash: work.SetHash(client.ObjectKeyFromObject(obj))}
	return requests(append(keys, index.ApplicationsOfWorks(ctx, r, ofSet)...))
}

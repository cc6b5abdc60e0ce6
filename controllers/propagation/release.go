package propagation

import (
	"context"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// release lets go of works and leaves what they brought on their clusters: each is changed so that its deletion
// destroys nothing, and deleted when the agent has applied that; at once where the cluster has not heard of it. All that
// has to be remembered is in the works, so it goes on after a restart, and is undone by writing the works as usual. One
// that cannot be changed does not keep the others from it. app is nil when the Application is gone. It returns the clusters
// of the works that are still there, sorted.
func (r *Reconciler) release(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) ([]string, error) {
	pending, errs := make([]string, len(works)), make([]error, len(works))
	for i := range works {
		pending[i], errs[i] = works[i].Namespace, r.releaseWork(ctx, app, &works[i])
	}
	if err := joined(errs); err != nil {
		return nil, err
	}
	slices.Sort(pending)
	return slices.Compact(pending), nil
}

// releaseWork takes the next step with one work. The work's changes and its end wake the reconciles that go on.
func (r *Reconciler) releaseWork(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) error {
	if !w.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.unheld(ctx, w); err != nil {
		return err
	}
	switch {
	case unheard(app, w):
		return r.endWork(ctx, w, app, asRead(w), nothingSent) // unless the agent has put its finalizer on it meanwhile
	case !work.Released(w):
		return r.prepareRelease(ctx, app, w)
	case !applied(w):
		return nil
	}
	if left, err := r.leavesBeside(ctx, w); err != nil || !left {
		return err
	}
	// Exactly the work that the agent has applied: not one that was put back into use meanwhile.
	return r.endWork(ctx, w, app, asRead(w), leftThere)
}

// leavesBeside tells whether the Applications of a work keep what they use on the cluster when it goes. The change of
// what carries that wakes the reconcile that goes on.
func (r *Reconciler) leavesBeside(ctx context.Context, w *workv1.ManifestWork) (bool, error) {
	if r.Beside == nil {
		return true, nil
	}
	return r.Beside.Left(ctx, w)
}

func (r *Reconciler) prepareRelease(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) error {
	if err := r.mayPutBack(ctx, app, w); err != nil {
		return err
	}
	updated, err := work.Release(w, app)
	if err != nil {
		return renderProblem(err)
	}
	return r.rewrite(ctx, w, updated)
}

// mayPutBack returns a Problem when a work carries a request, so that the Application as it is now has to be sent once
// more, and that may not be sent there.
func (r *Reconciler) mayPutBack(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) error {
	if app == nil || !work.CarriesRequest(w) {
		return nil
	}
	cluster, err := r.cluster(ctx, w.Namespace)
	if err != nil || cluster == nil {
		return err
	}
	return r.permitted(ctx, work.At(app, w), cluster)
}

// releaseAll lets go of all works of an Application that is still there, and returns what to tell of it; nil once
// there are none.
func (r *Reconciler) releaseAll(ctx context.Context, app *argocd.Application) (*Problem, error) {
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil {
		return nil, err
	}
	paused, free, err := r.releasePaused(ctx, app, works)
	if err != nil {
		return nil, err
	}
	pending, err := r.release(ctx, app, free)
	if paused == nil || err != nil {
		return releasing(pending), err
	}
	return paused, nil
}

// releaseUnseen lets go of the work that the Application must have and that the cache does not show: before nothing
// holds the Application on the hub any more, the cache's word for that does not do.
func (r *Reconciler) releaseUnseen(ctx context.Context, app *argocd.Application) (*Problem, error) {
	own, err := r.current(ctx, app)
	if err != nil || own == nil {
		return nil, err
	}
	pending, err := r.release(ctx, app, []workv1.ManifestWork{*own})
	if err != nil {
		return nil, joined([]error{err, waiting(unseen)}) // the end of a pause finds neither
	}
	p := releasing(pending)
	if p != nil {
		p.cause = waiting(unseen)
	}
	return p, nil
}

// releasing is what to tell while those clusters have not let go; nil for none.
func releasing(pending []string) *Problem {
	if len(pending) == 0 {
		return nil
	}
	return noticef(apis.ConditionReleaseWarning, apis.ReasonReleasing,
		"being released: waiting for the work agent of cluster %s to let go of the Application, which goes on running",
		strings.Join(pending, ", "))
}

// released is for an Application that asks to be let go of.
func (r *Reconciler) released(ctx context.Context, app *argocd.Application) error {
	notice, err := r.releaseAll(ctx, app)
	if err != nil || notice != nil {
		return problemOr(notice, err)
	}
	return letGoWhile("the annotation " + apis.AnnotationRelease + " is true")
}

// unsent is for an Application that does not say enough to be sent. One that has been sent is let go of, so that a
// slip destroys nothing.
func (r *Reconciler) unsent(ctx context.Context, app *argocd.Application, p *Problem) error {
	if p.Reason != apis.ReasonClusterAnnotationMissing && p.Reason != apis.ReasonSkipReconcileMissing {
		return p
	}
	notice, err := r.releaseAll(ctx, app)
	if err != nil {
		return err
	}
	return p.meanwhile(notice)
}

// letGoWhile is what to tell of an Application that has been let go of, for as long as something holds. Of the end of each
// of its works an event has told.
func letGoWhile(holds string) *Problem {
	return noticef(apis.ConditionReleaseWarning, silent,
		"released: what runs on a cluster stays there and is not managed as long as %s", holds)
}

// problemOr is the error, or else the problem where there is one.
func problemOr(p *Problem, err error) error {
	if err != nil || p == nil {
		return err
	}
	return p
}

package propagation

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// finalize takes a hub Application that is being deleted off its cluster. Argo CD's finalizers go from the hub's
// copy when the work is gone, which the work agent allows only once the cluster has removed the Application and,
// through the same finalizers there, what it deployed. An Application without them is left alone until it is gone.
func (r *Reconciler) finalize(ctx context.Context, app *argocd.Application) error {
	if !app.Cascades() {
		return nil
	}
	if app.ToBeReleased() || app.Cluster() == "" {
		return r.finalizeReleased(ctx, app)
	}
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil {
		return err
	}
	current, err := r.current(ctx, app)
	if err != nil {
		return err
	}
	watched := true
	if current != nil && !slices.ContainsFunc(works, func(w workv1.ManifestWork) bool { return w.UID == current.UID }) {
		works, watched = append(works, *current), false
	}
	errs := make([]error, len(works))
	for i := range works {
		_, errs[i] = r.remove(ctx, app, &works[i], false)
	}
	if err := joined(errs); err != nil {
		return err
	}
	held := slices.DeleteFunc(works, func(w workv1.ManifestWork) bool { return w.Name != work.Name(app) })
	if len(held) == 0 { // those of earlier Applications of its name are not waited for
		return r.releaseFinalizers(ctx, app)
	}
	notice, err := r.await(ctx, app, held)
	if notice != nil && !watched {
		notice.cause = waiting(unseen)
	}
	return problemOr(notice, err) // the end of the last work wakes the next reconcile
}

// current is the work that the Application must have, as the API server has it now; nil when there is none, or
// one that is not the Application's. The cache may be behind, and a workload is at stake.
func (r *Reconciler) current(ctx context.Context, app *argocd.Application) (*workv1.ManifestWork, error) {
	if !canBeSomewhere(app) {
		return nil, nil
	}
	w := &workv1.ManifestWork{}
	if err := r.Live.Get(ctx, work.Key(app), w); gone.Is(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	err := r.contested(ctx, app, w)
	if _, others := errors.AsType[*Problem](err); others {
		return nil, nil
	}
	return w, err
}

// releaseFinalizers takes Argo CD's finalizers off a hub Application. Those of others stay.
func (r *Reconciler) releaseFinalizers(ctx context.Context, app *argocd.Application) error {
	patch := metadataPatch{}
	patch.Metadata.ResourceVersion = app.ResourceVersion
	patch.Metadata.Finalizers = slices.DeleteFunc(slices.Clone(app.Finalizers), argocd.IsCascadeFinalizer)
	return client.IgnoreNotFound(r.patch(ctx, app, patch))
}

// removeOrphans deletes the works of an Application that is gone. Missing from the cache it may also be because
// its pull label was taken off, or because the cache is behind: only the API server's word counts.
func (r *Reconciler) removeOrphans(ctx context.Context, key types.NamespacedName) error {
	works, err := r.works(ctx, key)
	if err != nil {
		return err
	}
	if len(works) == 0 {
		r.losses.forget(key)
	}
	app := &argocd.Application{}
	err = r.Live.Get(ctx, key, app)
	switch {
	case err == nil && app.Labels[apis.LabelPull] != "":
		return nil // the cache is behind, and will tell
	case err == nil:
		return r.unlabelled(ctx, app, len(works) > 0)
	case !gone.Is(err):
		return err
	}
	errs := make([]error, len(works))
	for i := range works {
		errs[i] = r.removeOrphan(ctx, key, &works[i])
	}
	err = joined(errs)
	if p, is := errors.AsType[*Problem](err); is && p.notice() {
		return p.cause // there is no Application to show it on
	}
	return err
}

// works are the works whose annotations name the Application, and which it or an earlier one of its name can have
// had: the annotations are a cluster's to change, the name of a work is not. Those that another Application of the
// hub must have are left out: their owner will put the annotations right.
func (r *Reconciler) works(ctx context.Context, app types.NamespacedName) ([]workv1.ManifestWork, error) {
	return r.worksBut(ctx, app, types.NamespacedName{})
}

// worksBut are the same but for the one of that key.
func (r *Reconciler) worksBut(ctx context.Context, app, but types.NamespacedName) ([]workv1.ManifestWork, error) {
	return index.WorksNaming(ctx, r, app, func(w *workv1.ManifestWork) bool {
		key := client.ObjectKeyFromObject(w)
		if key == but || !work.NamedAfter(w.Name, app.Name) {
			return false
		}
		owners := index.ApplicationsOfWork(ctx, r, key)
		return len(owners) == 0 || slices.Contains(owners, app)
	})
}

package propagation

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// deliver makes the Application's work say what it should, and returns when to look again though nothing has
// changed; zero for never. It returns a Problem when the Application cannot be sent as it is; whatever has been sent
// before then stays as it was.
func (r *Reconciler) deliver(ctx context.Context, app *argocd.Application) (after time.Duration, err error) {
	w, err := r.way(ctx, app)
	if err == nil {
		after, err = r.send(ctx, w)
	} else {
		err = r.unanswered(ctx, app, r.staying(ctx, app, err))
	}
	if p, is := errors.AsType[*Problem](err); w.withheld != nil && (err == nil || is && p.notice()) {
		return after, w.withheld.with(p)
	}
	return after, err
}

// way is how an Application may be sent.
type way struct {
	// app is the Application, where its work may have it now.
	app *argocd.Application

	// existing is its work; nil when there is none.
	existing *workv1.ManifestWork

	// executor is for whom it is applied.
	executor types.NamespacedName

	// grantedBy is the ManagedClusterSetBinding that gives its namespace the cluster, where that is remembered; empty for
	// none.
	grantedBy string

	// withheld is the problem with its operation, which may not travel; nil when it may.
	withheld *Problem
}

// way finds out whether and how the Application may be sent. It returns a Problem where it may not, or not yet.
func (r *Reconciler) way(ctx context.Context, app *argocd.Application) (w way, err error) {
	if p := checkApplication(app); p != nil {
		return w, r.unsent(ctx, app, p)
	}
	cluster, err := r.cluster(ctx, app.Cluster())
	if err != nil {
		return w, err
	}
	if p := checkCluster(app, cluster); p != nil {
		return w, p
	}
	if err := r.permitted(ctx, app, cluster); err != nil {
		return w, err
	}
	if w.withheld, err = r.withheld(ctx, app, cluster); err != nil {
		return w, err
	}
	if w.existing, err = r.existing(ctx, app); err != nil {
		return w, err
	}
	if err := r.checkTarget(ctx, app, cluster, w.existing); err != nil {
		return w, err
	}
	if w.executor, err = r.executor(ctx, app); err != nil {
		return w, err
	}
	if w.grantedBy, err = r.grantedBy(ctx, app, cluster, w.existing); err != nil {
		return w, err
	}
	if w.existing == nil {
		w.app = app
		return w, r.clearTheWay(ctx, app, cluster, w.executor)
	}
	w.app, err = r.relocated(ctx, app, cluster, w.existing)
	return w, err
}

// staying is the error because of which an Application is not sent. A Problem with the cluster that it is to go to says where
// it is meanwhile.
func (r *Reconciler) staying(ctx context.Context, app *argocd.Application, err error) error {
	p, is := errors.AsType[*Problem](err)
	if !is || p.notice() || checkApplication(app) != nil {
		return err
	}
	stale, failed := r.stale(ctx, app)
	if failed != nil {
		return failed
	}
	there := notGoing(elsewhere(stale, app))
	if len(there) == 0 {
		return err
	}
	out := *p
	out.Message += "; until then cluster " + strings.Join(clustersOf(there), ", ") + " keeps it"
	return &out
}

// unanswered is the error because of which an Application is not sent. A refresh that is asked for is dropped with a
// Problem: its cluster does not hear of it, and whoever asked would wait.
func (r *Reconciler) unanswered(ctx context.Context, app *argocd.Application, err error) error {
	p, is := errors.AsType[*Problem](err)
	if !is || app.Refresh() == "" {
		return err
	}
	if err := r.dropRefresh(ctx, app, "a refresh was asked for and dropped, since the Application is not sent: "+p.shown()); err != nil {
		return err
	}
	return errAgain
}

// send makes the work of an Application that may go to its cluster.
func (r *Reconciler) send(ctx context.Context, w way) (time.Duration, error) {
	relayed, err := r.relayRequests(ctx, w.app, w.existing, w.withheld != nil)
	if err != nil || relayed.done {
		return 0, err
	}
	desired, err := render(w.app, relayed, w.existing)
	if err != nil {
		return 0, renderProblem(err)
	}
	work.ExecuteAs(desired, w.executor)
	if w.grantedBy != "" {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationGrantedBy, w.grantedBy)
	}
	current, err := r.apply(ctx, w.app, w.existing, desired)
	if err != nil {
		return 0, writeProblem(err, client.ObjectKeyFromObject(desired).String())
	}
	if p := refusal(w.app, current); p != nil {
		return relayed.after, p
	}
	after, err := r.removeStale(ctx, w.app, current)
	return soonest(relayed.after, after), err
}

// render is what the Application's work is to be.
func render(app *argocd.Application, relayed relayed, existing *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	desired, err := work.Render(app, relayed.requests)
	switch {
	case err != nil:
		return nil, err
	case relayed.hold:
		existing.Spec.DeepCopyInto(&desired.Spec)
	case relayed.carry != nil:
		err = work.Carry(desired, app, *relayed.carry)
	}
	return desired, err
}

// existing is the Application's work as the cache has it; nil when there is none. It is the cache's own: not to be changed.
func (r *Reconciler) existing(ctx context.Context, app *argocd.Application) (*workv1.ManifestWork, error) {
	w := &workv1.ManifestWork{}
	err := r.Get(ctx, work.Key(app), w, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return w, err
}

// cluster is the ManagedCluster of that name; nil when there is none. Any other failure to read it is an error:
// it says nothing about the cluster. It is the cache's own: not to be changed.
func (r *Reconciler) cluster(ctx context.Context, name string) (*clusterv1.ManagedCluster, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := r.Get(ctx, types.NamespacedName{Name: name}, cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return cluster, err
}

// apply creates or updates the work and returns it as it is now.
func (r *Reconciler) apply(
	ctx context.Context, app *argocd.Application, existing, desired *workv1.ManifestWork,
) (*workv1.ManifestWork, error) {
	if existing == nil {
		first := desired.DeepCopy()
		if err := r.claim(ctx, app, nil, first); err != nil {
			return nil, err
		}
		if created, err := r.create(ctx, app, first); created || err != nil {
			return first, err
		}
		found, err := r.found(ctx, app, desired)
		if err != nil {
			return nil, err
		}
		existing = found
	}
	return r.update(ctx, app, existing, desired)
}

// found is the work of the Application that is there but not in the cache: the cache is behind, or someone took the label
// off.
func (r *Reconciler) found(ctx context.Context, app *argocd.Application, desired *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	w := &workv1.ManifestWork{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(desired), w)
	switch {
	case gone.Is(err) || err == nil && !w.DeletionTimestamp.IsZero():
		return nil, waiting(unseen) // it is made anew when it is gone, which is perhaps not watched
	case err != nil:
		return nil, err
	case placeIn(w, app).Namespace == app.ClusterNamespace():
		return w, nil
	}
	// What has to be done before it leaves its place is done when the cache has it.
	if err := r.relabel(ctx, app, w, desired.Labels); err != nil {
		return nil, err
	}
	return nil, waiting(unseen)
}

// create tells whether the work was created; it was not when there is one of that name already.
func (r *Reconciler) create(ctx context.Context, app *argocd.Application, desired *workv1.ManifestWork) (bool, error) {
	err := r.Create(ctx, desired)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	workWrites.WithLabelValues("create").Inc()
	r.noteRestore(ctx, app, desired)
	r.Events.Eventf(app, desired, corev1.EventTypeNormal, apis.ReasonPropagated, "Propagate",
		"created ManifestWork %s/%s", desired.Namespace, desired.Name)
	return true, nil
}

// update patches the work where it differs from desired: after a change on the hub, and when someone edited the
// work. It returns what the API server has then.
func (r *Reconciler) update(
	ctx context.Context, app *argocd.Application, existing, desired *workv1.ManifestWork,
) (*workv1.ManifestWork, error) {
	if !existing.DeletionTimestamp.IsZero() {
		return existing, nil // its end wakes the reconcile that makes it anew
	}
	if err := r.contested(ctx, app, existing); err != nil {
		return nil, err
	}
	if err := r.claim(ctx, app, existing, desired); err != nil {
		return nil, err
	}
	updated, changed := work.Update(existing, desired)
	if !changed {
		return existing, nil
	}
	if err := r.rewrite(ctx, existing, updated); err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Updated ManifestWork", "work", client.ObjectKeyFromObject(updated).String())
	return updated, nil
}

// contested returns a Problem when the work of the Application's name is another's: one that no pull controller
// made, or one that another Application of the hub must have under the same name.
func (r *Reconciler) contested(ctx context.Context, app *argocd.Application, existing *workv1.ManifestWork) error {
	key := client.ObjectKeyFromObject(existing)
	if !work.Carries(existing, app) {
		p := problemf(apis.ReasonWorkConflict,
			"ManifestWork %s is in the way and was not made for this Application: delete it or give it another name", key)
		p.cause = errLater
		return p
	}
	owner, ok := index.HubApplication(existing)
	if !ok || owner == client.ObjectKeyFromObject(app) {
		return nil
	}
	other := &argocd.Application{}
	err := r.Get(ctx, owner, other)
	if apierrors.IsNotFound(err) || err == nil && work.Key(other) != key {
		return nil // the annotations were changed, or its Application is gone
	}
	if err != nil {
		return err
	}
	return problemf(apis.ReasonWorkConflict,
		"ManifestWork %s belongs to Application %s: give this Application another name", key, owner)
}

// applied tells whether the work agent has applied the work as it is now. One that only looks, it has not.
func applied(w *workv1.ManifestWork) bool {
	return work.Outcome(w) == metav1.ConditionTrue && work.ClaimOf(w) != work.Looks
}

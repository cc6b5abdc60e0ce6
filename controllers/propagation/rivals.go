package propagation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// checkTarget returns a Problem when another Application has the namespace and name that this one is to have on its
// cluster. existing is this one's work; nil when there is none.
func (r *Reconciler) checkTarget(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster, existing *workv1.ManifestWork,
) error {
	existing = sentTo(app, existing)
	for _, key := range index.ApplicationsOfTarget(ctx, r, app) {
		if key == client.ObjectKeyFromObject(app) {
			continue
		}
		first, err := r.comesFirst(ctx, key, app, cluster, existing)
		if err != nil {
			return err
		}
		if first {
			if err := r.giveWay(ctx, key, app, existing); err != nil {
				return err
			}
			p := problemf(apis.ReasonTargetConflict,
				"Application %s has the same namespace and name on cluster %s: give this one another name, or another %s",
				key, app.Cluster(), apis.AnnotationAppNamespace)
			p.cause = errLater // the end of the other wakes this one, but not all that can make it give way
			return p
		}
	}
	if existing == nil {
		if err := r.checkPlace(ctx, app); err != nil {
			return err
		}
	}
	if authorization.IsHub(cluster) {
		return r.checkHub(ctx, app)
	}
	return nil
}

// comesFirst tells whether the Application of that key keeps the target that it shares with app: the one that has
// been sent keeps it; of two that have not, or both have, the older. One that may not be sent does not count.
func (r *Reconciler) comesFirst(
	ctx context.Context, key types.NamespacedName, app *argocd.Application, cluster *clusterv1.ManagedCluster, existing *workv1.ManifestWork,
) (bool, error) {
	rival := &argocd.Application{}
	if err := r.Get(ctx, key, rival); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	theirs, err := r.sent(ctx, rival, existing == nil)
	if err != nil {
		return false, err
	}
	theirs = sentTo(app, theirs)
	if theirs == nil {
		if may, err := r.maySend(ctx, rival, cluster); !may || err != nil {
			return false, err
		}
	}
	if (theirs == nil) != (existing == nil) {
		return existing == nil, nil
	}
	a, b := rival.CreationTimestamp, app.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && rival.UID < app.UID, nil
}

// sentTo is the work if it brings its Application to the target of app; nil otherwise. One of the same name may have brought
// it to another namespace of the cluster, and gives no right to this one.
func sentTo(app *argocd.Application, w *workv1.ManifestWork) *workv1.ManifestWork {
	if w == nil || !work.CarriesTo(w, types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}) {
		return nil
	}
	return w
}

// sent is a rival's work; nil when there is none. Before a work is made beside it, the cache's word for that does not do:
// two that are made at a time would both be sent.
func (r *Reconciler) sent(ctx context.Context, rival *argocd.Application, making bool) (*workv1.ManifestWork, error) {
	theirs, err := r.existing(ctx, rival)
	if theirs != nil || err != nil || !making {
		return theirs, err
	}
	live := &workv1.ManifestWork{}
	if err := r.Live.Get(ctx, work.Key(rival), live); gone.Is(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return live, nil
}

// maySend tells whether an Application that has not been sent can be: it asks for that, and nothing forbids it.
func (r *Reconciler) maySend(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (bool, error) {
	if !app.Pulled() || app.ToBeReleased() || checkApplication(app) != nil {
		return false, nil //nolint:nilerr // a Problem of that one, which its own reconcile says
	}
	request, unreadable := authorization.ReadSpec(app)
	if unreadable != nil {
		return false, nil //nolint:nilerr // what cannot be read is not sent, which its own reconcile says
	}
	refusal, err := r.Grants.Check(ctx, app, request, cluster)
	return refusal == nil, err
}

// giveWay takes back an Application that was sent though the one of that key, which comes first, was as well. The
// cluster's Application has both works for owners once both have been applied, and stays when one of them goes; until
// then nothing is done.
func (r *Reconciler) giveWay(ctx context.Context, key types.NamespacedName, app *argocd.Application, existing *workv1.ManifestWork) error {
	if existing == nil {
		return nil
	}
	rival, theirs := &argocd.Application{}, &workv1.ManifestWork{}
	if err := r.Live.Get(ctx, key, rival); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.Live.Get(ctx, work.Key(rival), theirs); err != nil {
		return client.IgnoreNotFound(err)
	}
	target := types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
	if !rival.DeletionTimestamp.IsZero() || !theirs.DeletionTimestamp.IsZero() || !applied(theirs) || !work.CarriesTo(theirs, target) {
		return nil
	}
	mine, err := r.current(ctx, app)
	if err != nil || mine == nil || !applied(mine) || !work.CarriesTo(mine, target) {
		return err
	}
	return r.deleteWork(ctx, mine, app)
}

// checkHub returns a Problem when the hub itself, as a managed cluster, has an Application of the target's namespace
// and name that this one's work did not bring: it would be overwritten.
func (r *Reconciler) checkHub(ctx context.Context, app *argocd.Application) error {
	there := &argocd.Application{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}, there)
	if apierrors.IsNotFound(err) || err == nil && there.Annotations[apis.AnnotationWork] == work.Name(app) {
		return nil
	}
	if err != nil {
		return err
	}
	p := problemf(apis.ReasonLocalClusterConflict,
		"cluster %s is the hub itself, which has another Application %s/%s: set the annotation %s to another namespace",
		app.Cluster(), app.ClusterNamespace(), app.Name, apis.AnnotationAppNamespace)
	p.cause = errLater
	return p
}

// rivals are the other Applications with the target of one that came, went or changed its target.
func (r *Reconciler) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, key := range index.ApplicationsOfTarget(ctx, r, obj.(*argocd.Application)) {
		if key != client.ObjectKeyFromObject(obj) {
			out = append(out, reconcile.Request{NamespacedName: key})
		}
	}
	return out
}

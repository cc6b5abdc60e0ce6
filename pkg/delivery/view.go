package delivery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

type works = []*workv1.ManifestWork

// view is what checks and steps look at: they change neither the view nor the plan.
type view struct {
	*Facts
	Options

	// going are the works whose deletion the plan asks for.
	going map[types.UID]bool
}

// knows tells whether facts have been read.
func (v *view) knows(n Need) bool { return n&^v.Known == 0 }

// target is the cluster that the Application asks for.
func (v *view) target() managedcluster.Facts { return v.Clusters[v.App.Cluster()] }

// subject is a work of the Application.
func (v *view) subject(w *workv1.ManifestWork) *subject { return &subject{w, v.App} }

// deletionRequested tells whether the deletion of a work has been asked for, by the plan or before.
func (v *view) deletionRequested(w *workv1.ManifestWork) bool {
	return !w.DeletionTimestamp.IsZero() || v.going[w.UID]
}

// owns tells whether Own may be taken for the Application's: not one that no pull controller made, nor one that another
// Application of the hub must have.
func (v *view) owns() bool {
	return v.Own != nil && work.Carries(v.Own, v.App) && v.OwnOwner == (types.NamespacedName{})
}

// all are the works of the Application, Own among them.
func (v *view) all() works {
	if !v.owns() {
		return v.Others
	}
	return append(slices.Clone(v.Others), v.Own)
}

// elsewhere are the other works on other clusters than the target's.
func (v *view) elsewhere() works {
	return only(v.Others, func(w *workv1.ManifestWork) bool { return w.Namespace != v.App.Cluster() })
}

// staying are those works whose deletion has not been asked for.
func (v *view) staying(ws works) works {
	return only(ws, func(w *workv1.ManifestWork) bool { return !v.deletionRequested(w) })
}

func only(ws works, wanted func(*workv1.ManifestWork) bool) (out works) {
	for _, w := range ws {
		if wanted(w) {
			out = append(out, w)
		}
	}
	return out
}

// clustersOf are the clusters of works, sorted.
func clustersOf(ws works) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Namespace
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// targetOf is the namespace and name that the Application is to have on its cluster.
func targetOf(app *argocd.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
}

// sentTo is the work if it brings its Application to the target of app; nil otherwise. One of the same name may have brought
// it to another namespace of the cluster, and gives no right to this one.
func sentTo(app *argocd.Application, w *workv1.ManifestWork) *workv1.ManifestWork {
	if w == nil || !work.CarriesTo(w, targetOf(app)) {
		return nil
	}
	return w
}

// sent is the own work if it brings the Application to its target; nil otherwise.
func (v *view) sent() *workv1.ManifestWork { return sentTo(v.App, v.Own) }

// targetIn is where the work of an Application has it on the cluster, as far as it says. One of the first pull controllers
// says so only by what it carries.
func targetIn(w *workv1.ManifestWork, app *argocd.Application) types.NamespacedName {
	target := targetOf(app)
	if len(w.Spec.ManifestConfigs) > 0 {
		target.Namespace = w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace
	} else if held, ok := work.Carried(w); ok && held.Name == app.Name {
		target.Namespace = held.Namespace
	}
	return target
}

// isHere tells whether a work has its Application at the target of app: what is said of the one is said of the other.
func isHere(w *workv1.ManifestWork, app *argocd.Application) bool {
	return w.Namespace == app.Cluster() && targetIn(w, app).Namespace == app.ClusterNamespace()
}

// earlier tells whether a work is one of an earlier Application of the name, at another target.
func (v *view) earlier(w *workv1.ManifestWork) bool {
	return w.Name != work.Name(v.App) && !isHere(w, v.App)
}

// applied tells whether the work agent has applied the work as it is now. One by which it changes nothing, it has not.
func applied(w *workv1.ManifestWork) bool {
	return work.Outcome(w) == metav1.ConditionTrue && !work.IsReadOnly(w)
}

// unseen tells whether the work agent cannot have seen an Application's own work yet, so that nothing is there to be
// released: the agent (v1.2.0) applies nothing before its finalizer is on the work.
//
// That is not enough for an Application that any cluster has ever reported on, or that is gone. A work of its name may
// have brought it and have gone without the agent, as with a ManagedCluster that was imported again, or may have come
// out of a backup: what is there is still held by that name, and the agent destroys it an hour after it finds no work.
func unseen(app *argocd.Application, w *workv1.ManifestWork) bool {
	if app == nil || w.Name != work.Name(app) ||
		work.Seen(w) || work.MadeAnew(w) || len(w.Status.Conditions) > 0 {
		return false
	}
	return !reportedOn(app)
}

// reportedOn tells whether a cluster has ever reported on the Application.
func reportedOn(app *argocd.Application) bool {
	known := app.Status
	known.Conditions = nil // the hub's own
	return !known.Empty() || len(known.Unreadable) > 0
}

// notThere tells whether the agent has looked for the Application of a work and found none. All else that it tells of that
// Application is from before: it (v1.2.0) leaves the last feedback as it is.
func notThere(w *workv1.ManifestWork) bool { return found(w) == metav1.ConditionFalse }

// found is whether the agent has found the Application of a work; empty where it has not said. It is unknown where it could
// not read.
func found(w *workv1.ManifestWork) metav1.ConditionStatus {
	if c := said(w, workv1.WorkAvailable); c != nil {
		return c.Status
	}
	return ""
}

// said is what the agent says of the Application; nil where it does not, and for a work without rules, which a cluster
// can make of one that it has.
func said(w *workv1.ManifestWork, conditionType string) *metav1.Condition {
	if len(w.Spec.ManifestConfigs) == 0 {
		return nil
	}
	return feedback.WorkCondition(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier, conditionType)
}

// operations is what the cluster tells of operations.
func operations(seen *feedback.Observation) relay.Cluster {
	c := relay.Cluster{Version: seen.Version, Taken: seen.Taken, Pending: seen.Pending}
	if s := seen.Status.OperationState; s != nil {
		c.Busy, c.StartedAt = s.Running(), s.StartedAt
	}
	return c
}

// cascade are the finalizers of the hub's copy that the cluster's is to have when it goes.
func cascade(app *argocd.Application) []string {
	if app == nil {
		return nil
	}
	return app.FinalizersThere()
}

func unreadable(app *argocd.Application, annotation string) bool {
	return argocd.Unreadable(app.Annotations, annotation)
}

package delivery

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

type works = []*workv1.ManifestWork

// view is the input of checks and steps. Checks and steps change neither the view nor the plan.
type view struct {
	*Facts
	Options

	// going are the UIDs of the works with a planned deletion.
	going []types.UID

	// ahead is the claimant with precedence over the Application at the target; nil for none.
	ahead *Claimant

	// remembered is true if the Application still counts as Towline's after the end of its works.
	remembered bool

	// reports are the agents' reports read so far.
	reports []*work.Report
}

func newView(f *Facts, o Options) view {
	v := view{Facts: f, Options: o}
	v.ahead, v.remembered = v.firstClaimant(), v.remembers()
	return v
}

// report returns the agent's report about a work. A decision reads each report once.
func (v *view) report(w *workv1.ManifestWork) *work.Report {
	if i := slices.IndexFunc(v.reports, func(r *work.Report) bool { return r.Work == w }); i >= 0 {
		return v.reports[i]
	}
	r := work.ReportOf(w)
	v.reports = append(v.reports, r)
	return r
}

// observed returns the cluster's report about an Application in a work. The report is empty for an Application at
// another place than the Application of the work.
func (v *view) observed(w *workv1.ManifestWork, app *argocd.Application) *feedback.Observation {
	if work.Resource(w) != work.Identifier(app) {
		return &feedback.Observation{}
	}
	return v.report(w).Observation()
}

// knows reports whether facts have been read.
func (v *view) knows(n FactSet) bool { return n&^v.Known == 0 }

// target returns the facts of the Application's target cluster.
func (v *view) target() managedcluster.Facts { return v.Clusters[v.App.Cluster()] }

// subject returns a work as the subject of a step. The cluster of the work may read repositories in another way than the
// target cluster.
func (v *view) subject(w *workv1.ManifestWork) *subject {
	return &subject{ManifestWork: w, app: v.Clusters[w.Namespace].Reading(v.App)}
}

// deletionRequested reports whether a work's deletion has been requested, by the plan or before.
func (v *view) deletionRequested(w *workv1.ManifestWork) bool {
	return !w.DeletionTimestamp.IsZero() || slices.Contains(v.going, w.UID)
}

// owns reports whether Own belongs to the Application. A work from no pull controller does not belong to the
// Application, and neither does a work that another Application of the hub must have.
func (v *view) owns() bool {
	return v.Own != nil && work.Carries(v.Own, v.App) && v.OwnOwner == (types.NamespacedName{})
}

// all returns the works of the Application, including Own.
func (v *view) all() works {
	if !v.owns() {
		return v.Others
	}
	return append(slices.Clone(v.Others), v.Own)
}

// elsewhere returns the works of Others on clusters other than the target cluster.
func (v *view) elsewhere() works {
	return only(v.Others, func(w *workv1.ManifestWork) bool { return w.Namespace != v.App.Cluster() })
}

// staying returns the works without a requested deletion.
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

// clustersOf returns the clusters of works, sorted.
func clustersOf(ws works) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.Namespace
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// targetOf returns the namespace and name of the Application on its cluster.
func targetOf(app *argocd.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
}

// sentTo returns the work if the work brings its Application to the target of app, and nil otherwise. A work of the
// same name may have brought the Application to another namespace on the cluster, and gives no right to the target.
func sentTo(app *argocd.Application, w *workv1.ManifestWork) *workv1.ManifestWork {
	if w == nil || !work.CarriesTo(w, targetOf(app)) {
		return nil
	}
	return w
}

// sent returns the own work if the work brings the Application to its target, and nil otherwise.
func (v *view) sent() *workv1.ManifestWork { return sentTo(v.App, v.Own) }

// targetIn returns the place of the work's Application on the cluster.
func targetIn(w *workv1.ManifestWork, app *argocd.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(work.Resource(w).Namespace, app.ClusterNamespace()), Name: app.Name}
}

// isHere reports whether a work has its Application at the target of app. The work then reports on the same
// Application of the cluster as the own work of app.
func isHere(w *workv1.ManifestWork, app *argocd.Application) bool {
	return w.Namespace == app.Cluster() && targetIn(w, app).Namespace == app.ClusterNamespace()
}

// earlier reports whether a work belongs to an earlier Application of the same name, at another target.
func (v *view) earlier(w *workv1.ManifestWork) bool {
	return w.Name != work.Name(v.App) && !isHere(w, v.App)
}

// replaced reports whether a work of a later Application of the same name has replaced a work at its target. The
// cluster's Application then belongs to both works or, after the release of both, to no work. So the Application stays
// when the earlier work is deleted. As long as both works exist, each work reverts the content of the other work.
func (v *view) replaced(w *workv1.ManifestWork) bool {
	at, left := targetIn(w, v.App), work.Released(w) && v.report(w).Applied()
	return slices.ContainsFunc(v.staying(v.all()), func(later *workv1.ManifestWork) bool {
		return v.isLater(later, w) && later.Namespace == w.Namespace && work.CarriesTo(later, at) && v.report(later).Applied() &&
			(left || !work.Released(later))
	})
}

// isLater reports whether a work belongs to a later Application of the same name than a second work.
func (v *view) isLater(w, than *workv1.ManifestWork) bool {
	if own := work.Name(v.App); w.Name == own || than.Name == own {
		return than.Name != own
	}
	return cmp.Or(w.CreationTimestamp.Compare(than.CreationTimestamp.Time), strings.Compare(w.Name, than.Name)) > 0
}

// unseen reports whether the work agent cannot have seen an Application's own work, so that no release is needed. The
// agent (v1.2.0) adds its finalizer to the work before the first apply.
//
// The missing finalizer is no proof if any cluster has ever reported on the Application, or if the Application is
// gone. An earlier work of the same name may have delivered the Application. The agent may have missed the end of the
// earlier work, as after a new import of the ManagedCluster. Or the work may come from a backup. The delivered
// objects still belong to the name of the work, and the agent destroys the objects an hour after the agent finds no
// work.
func (v *view) unseen(app *argocd.Application, w *workv1.ManifestWork) bool {
	return app != nil && w.Name == work.Name(app) && !work.Seen(w) && !work.Recreated(w) && !v.report(w).Told() && !reportedOn(app)
}

// reportedOn reports whether a cluster has ever reported on the Application.
func reportedOn(app *argocd.Application) bool {
	known := app.Status
	known.Conditions = nil // from the hub itself
	return !known.Empty() || len(known.Unreadable) > 0
}

// cascade returns the finalizers that the cluster's Application must have at its removal, from the hub's Application.
func cascade(app *argocd.Application) []string {
	if app == nil {
		return nil
	}
	return app.FinalizersThere()
}

func unreadable(app *argocd.Application, annotation string) bool {
	return argocd.Unreadable(app.Annotations, annotation)
}

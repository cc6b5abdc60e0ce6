package propagation

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// adoption is what becomes of an Application that the cluster has already. Never, where the hub says so, is not for
// an Application's author to lift.
func (r *Reconciler) adoption(app *argocd.Application) string {
	asked := app.Annotations[apis.AnnotationAdopt]
	if asked == "" || r.Adopt == apis.AdoptNever {
		return r.Adopt
	}
	return asked
}

// claim makes a work that Render made, and that takes the Application's place on its cluster whatever is there, ask
// first as long as that is open. existing is the work as it is; nil when there is none.
//
// A work that asked and got the Application is not written for that alone: the agent (v1.2.0) applies nothing that it
// finds applied, so that how it would do so matters with the next change only, which makes it a work that takes.
func (r *Reconciler) claim(ctx context.Context, app *argocd.Application, existing, desired *workv1.ManifestWork) error {
	here := types.NamespacedName{Namespace: app.ClusterNamespace(), Name: app.Name}
	if existing == nil || !work.CarriesTo(existing, here) {
		brought, err := r.brought(ctx, app, here)
		if err == nil && !brought {
			work.SetClaim(desired, claims[r.adoption(app)])
		}
		return err
	}
	claim := work.ClaimOf(existing)
	switch {
	case claim == work.Takes:
	case claim == work.Asks && applied(existing):
		work.SetClaim(desired, work.Asks)
		if _, changed := work.Update(existing, desired); changed {
			work.SetClaim(desired, work.Takes)
		}
	case claim == work.Looks && !missing(existing):
		work.SetClaim(desired, claims[r.adoption(app)])
	case r.adoption(app) != apis.AdoptAlways:
		work.SetClaim(desired, work.Asks) // also where there was nothing: something may have come since
	}
	return nil
}

// claims are what a new work does, by what is to become of an Application that is there.
var claims = map[string]work.Claim{
	apis.AdoptNever: work.Looks, apis.AdoptMatching: work.Asks, apis.AdoptAlways: work.Takes,
}

// brought tells whether the work of an earlier Application of the same name has brought what the cluster has there.
func (r *Reconciler) brought(ctx context.Context, app *argocd.Application, here types.NamespacedName) (bool, error) {
	stale, err := r.stale(ctx, app)
	return slices.ContainsFunc(stale, func(w workv1.ManifestWork) bool {
		return w.Namespace == app.Cluster() && work.CarriesTo(&w, here) && (work.ClaimOf(&w) == work.Takes || applied(&w))
	}), err
}

// refusal is the problem with an Application whose work may not take what the cluster has already; nil when there is none.
func refusal(app *argocd.Application, w *workv1.ManifestWork) *Problem {
	why := refused(w)
	if why == "" {
		return nil
	}
	p := problemf(apis.ReasonAdoptionRefused, "cluster %s has an Application %s/%s already, which stays as it is",
		w.Namespace, app.ClusterNamespace(), app.Name)
	if work.ClaimOf(w) == work.Looks {
		p.Message += ": delete it there, give this one another name, or allow to take it over (" + apis.AnnotationAdopt + ", --adopt)"
		return p
	}
	p.Message += ", since others set fields of it differently: make them equal, or set the annotation " +
		apis.AnnotationAdopt + " to \"always\". " + why
	return p
}

// refused is why the agent has not taken over what is there; empty when nothing is, or it has not said.
func refused(w *workv1.ManifestWork) string {
	switch work.ClaimOf(w) {
	case work.Asks:
		return work.Refused(w)
	case work.Looks:
		if c := said(w, workv1.WorkAvailable); c != nil && c.Status == metav1.ConditionTrue {
			return "it is there"
		}
	case work.Takes, work.Leaves:
	}
	return ""
}

// missing tells whether the agent of a work that only looks has found no Application.
func missing(w *workv1.ManifestWork) bool { return work.ClaimOf(w) == work.Looks && notThere(w) }

// notThere tells whether the agent has looked for the Application of a work and found none. All else that it tells of that
// Application is from before: it (v1.2.0) leaves the last feedback as it is.
func notThere(w *workv1.ManifestWork) bool {
	c := said(w, workv1.WorkAvailable)
	return c != nil && c.Status == metav1.ConditionFalse
}

// said is what the agent says of the Application; nil where it does not, and for a work without rules, which a cluster
// can make of one that it has.
func said(w *workv1.ManifestWork, conditionType string) *metav1.Condition {
	if len(w.Spec.ManifestConfigs) == 0 {
		return nil
	}
	return feedback.WorkCondition(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier, conditionType)
}

package delivery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// adoption is what becomes of an Application that the cluster has already. Never, where the hub says so, is not for
// an Application's author to lift.
func (d *decision) adoption() string {
	asked := d.App.Annotations[apis.AnnotationAdopt]
	if asked == "" || d.Adopt == apis.AdoptNever {
		return d.Adopt
	}
	return asked
}

// claims are what a new work does, by what is to become of an Application that is there.
var claims = map[string]work.Claim{
	apis.AdoptNever: work.Looks, apis.AdoptMatching: work.Asks, apis.AdoptAlways: work.Takes,
}

// claim makes a work that Render made, and that takes the Application's target on its cluster whatever is there, ask
// first as long as that is open.
//
// A work that asked and got the Application is not written for that alone: the agent (v1.2.0) applies nothing that it
// finds applied, so that how it would do so matters with the next change only, which makes it a work that takes.
func (d *decision) claim(desired *workv1.ManifestWork) {
	mine := d.sent()
	if d.to != d.App {
		mine = sentTo(d.to, d.Own)
	}
	if mine == nil {
		if !d.broughtBefore() {
			work.SetClaim(desired, claims[d.adoption()])
		}
		return
	}
	claim := work.ClaimOf(d.Own)
	switch {
	case claim == work.Takes:
	case claim == work.Asks && applied(d.Own):
		work.SetClaim(desired, work.Asks)
		if _, changed := work.Update(d.Own, desired); changed {
			work.SetClaim(desired, work.Takes)
		}
	case claim == work.Looks && !missing(d.Own) && !work.LetGo(d.Own):
		work.SetClaim(desired, claims[d.adoption()])
	case d.adoption() != apis.AdoptAlways:
		work.SetClaim(desired, work.Asks) // also where there was nothing, or its own: something may have come since
	}
}

// broughtBefore tells whether the work of an earlier Application of the same name has brought what the cluster has there.
func (d *decision) broughtBefore() bool {
	return slices.ContainsFunc(d.Others, func(w *workv1.ManifestWork) bool {
		return w.Namespace == d.to.Cluster() && sentTo(d.to, w) != nil && (work.ClaimOf(w) == work.Takes || applied(w))
	})
}

// askAdoption is for an Application whose work may not take what the cluster has already.
func (d *decision) askAdoption(w *workv1.ManifestWork) answer {
	why := refusedBy(w)
	if why == "" {
		return open
	}
	a := because("cluster %s has an Application %s/%s already, which stays as it is", w.Namespace, d.to.ClusterNamespace(), d.to.Name)
	if work.ClaimOf(w) == work.Looks {
		a.words += ": delete it there, give this one another name, or allow to take it over (" + apis.AnnotationAdopt + ", --adopt)"
		return a
	}
	a.words += ", since others set fields of it differently: make them equal, or "
	if d.Adopt == apis.AdoptNever {
		a.words += "delete it there. " + why // no annotation lifts that
		return a
	}
	a.words += "set the annotation " + apis.AnnotationAdopt + " to \"always\". " + why
	return a
}

// refusedBy is why the agent has not taken over what is there; empty when nothing is, or it has not said.
func refusedBy(w *workv1.ManifestWork) string {
	switch work.ClaimOf(w) {
	case work.Asks:
		return work.Refused(w)
	case work.Looks:
		if found(w) == metav1.ConditionTrue {
			return "it is there"
		}
	case work.Takes, work.Leaves:
	}
	return ""
}

// missing tells whether the agent of a work that only looks has found no Application.
func missing(w *workv1.ManifestWork) bool { return work.ClaimOf(w) == work.Looks && notThere(w) }

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
var claims = map[string]work.UpdateMode{
	apis.AdoptNever: work.ReadOnly, apis.AdoptMatching: work.Apply, apis.AdoptAlways: work.ForceApply,
}

// claim makes a work that Render made, and that takes the Application's target on its cluster whatever is there, ask
// first as long as that is open.
//
// A work that asked and got the Application is not written for that alone. Its next change makes it a work that takes, or
// the refusal of a later apply: somebody has edited on the cluster what the work had brought. Then the work first
// asks the agent who owns the Application.
func (d *decision) claim(desired *workv1.ManifestWork) {
	mine := d.sent()
	if d.to != d.App {
		mine = sentTo(d.to, d.Own)
	}
	if mine == nil {
		if !d.broughtBefore() {
			work.SetUpdateMode(desired, claims[d.adoption()])
		}
		return
	}
	claim := work.UpdateModeOf(d.Own)
	switch {
	case claim == work.ForceApply:
	case claim == work.Apply && applied(d.Own):
		work.SetUpdateMode(desired, work.Apply)
		if _, changed := work.Update(d.Own, desired); changed {
			work.SetUpdateMode(desired, work.ForceApply)
		}
	case claim == work.ReadOnly && !missing(d.Own) && !work.FoundReleased(d.Own):
		work.SetUpdateMode(desired, claims[d.adoption()])
	case work.RefusedForMark(d.Own): // by force: all else is as the hub has it, or the agent's, or nobody's
	case work.RefusedForEdit(d.Own): // by force: the hub decides what its own Application says
	case d.adoption() != apis.AdoptAlways:
		work.SetUpdateMode(desired, work.Apply) // also where there was nothing, or its own: something may have come since
		if work.Refused(d.Own) != "" || work.AsksOrigin(d.Own) {
			work.AskOrigin(desired)
		}
	}
}

// broughtBefore tells whether the work of an earlier Application of the same name has brought what the cluster has there.
func (d *decision) broughtBefore() bool {
	return slices.ContainsFunc(d.Others, func(w *workv1.ManifestWork) bool {
		return w.Namespace == d.to.Cluster() && sentTo(d.to, w) != nil && (work.UpdateModeOf(w) == work.ForceApply || applied(w))
	})
}

// askAdoption is for an Application whose work may not take what the cluster has already.
func (d *decision) askAdoption(w *workv1.ManifestWork) answer {
	why := refusedBy(w)
	if why == "" {
		return open
	}
	a := because("cluster %s already has an Application %s/%s, which stays unchanged", w.Namespace, d.to.ClusterNamespace(), d.to.Name)
	if work.UpdateModeOf(w) == work.ReadOnly {
		a.Words += ": delete it there, give this one another name, or permit Towline to take it over (" + apis.AnnotationAdopt + ", --adopt)"
		return a
	}
	a.Words += ", because others set some of its fields to other values: make them equal, or "
	if d.Adopt == apis.AdoptNever {
		a.Words += "delete it there. " + why // no annotation lifts that
		return a
	}
	a.Words += "set the annotation " + apis.AnnotationAdopt + " to \"always\". " + why
	return a
}

// refusedBy is why the agent has not taken over what is there; empty when nothing is, or it has not said.
func refusedBy(w *workv1.ManifestWork) string {
	switch work.UpdateModeOf(w) {
	case work.Apply:
		if work.RefusedForEdit(w) || work.AsksOrigin(w) && !work.Reported(w) {
			return "" // it is about to be applied by force, or that is not known yet
		}
		return work.Refused(w)
	case work.ReadOnly:
		if found(w) == metav1.ConditionTrue {
			return "it is there"
		}
	case work.ForceApply, work.CreateOnly:
	}
	return ""
}

// missing tells whether the agent of a work that only looks has found no Application.
func missing(w *workv1.ManifestWork) bool {
	return work.UpdateModeOf(w) == work.ReadOnly && notThere(w)
}

package delivery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// adoption is what becomes of an Application that the cluster has already. Never, where the hub says so, is not for
// an Application's author to lift.
func (v *view) adoption() string {
	asked := v.App.Annotations[apis.AnnotationAdopt]
	if asked == "" || v.Adopt == apis.AdoptNever {
		return v.Adopt
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
func (v *view) claim(desired *workv1.ManifestWork, to *argocd.Application) {
	if sentTo(to, v.Own) == nil {
		if !v.broughtBefore(to) {
			work.SetUpdateMode(desired, claims[v.adoption()])
		}
		return
	}
	claim := work.UpdateModeOf(v.Own)
	switch {
	case claim == work.ForceApply:
	case claim == work.Apply && applied(v.Own):
		work.SetUpdateMode(desired, work.Apply)
		if _, changed := work.Update(v.Own, desired); changed {
			work.SetUpdateMode(desired, work.ForceApply)
		}
	case claim == work.ReadOnly && !missing(v.Own) && !work.FoundReleased(v.Own):
		work.SetUpdateMode(desired, claims[v.adoption()])
	case work.RefusedForMark(v.Own): // by force: all else is as the hub has it, or the agent's, or nobody's
	case work.RefusedForEdit(v.Own): // by force: the hub decides what its own Application says
	case v.adoption() != apis.AdoptAlways:
		work.SetUpdateMode(desired, work.Apply) // also where there was nothing, or its own: something may have come since
		if work.Refused(v.Own) != "" || work.AsksOrigin(v.Own) {
			work.AskOrigin(desired)
		}
	}
}

// broughtBefore tells whether the work of an earlier Application of the same name has brought what the cluster has there.
func (v *view) broughtBefore(to *argocd.Application) bool {
	return slices.ContainsFunc(v.Others, func(w *workv1.ManifestWork) bool {
		return w.Namespace == to.Cluster() && sentTo(to, w) != nil && (work.UpdateModeOf(w) == work.ForceApply || applied(w))
	})
}

// adoptionRefused tells of an Application whose work may not take what the cluster has already.
var adoptionRefused = &Gate{Name: "adoption", Type: problem, Reason: apis.ReasonAdoptionRefused, Quiet: true}

// adopted is the verdict on that, for the work of an Application.
func (v *view) adopted(w *workv1.ManifestWork, to *argocd.Application) verdict {
	why := refusedBy(w)
	if why == "" {
		return pass
	}
	problem := blockf("cluster %s already has an Application %s/%s, which stays unchanged", w.Namespace, to.ClusterNamespace(), to.Name)
	if work.UpdateModeOf(w) == work.ReadOnly {
		problem.Words += ": delete it there, give this one another name, or permit Towline to take it over (" + apis.AnnotationAdopt + ", --adopt)"
		return problem
	}
	problem.Words += ", because others set some of its fields to other values: make them equal, or "
	if v.Adopt == apis.AdoptNever {
		problem.Words += "delete it there. " + why // no annotation lifts that
		return problem
	}
	problem.Words += "set the annotation " + apis.AnnotationAdopt + " to \"always\". " + why
	return problem
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

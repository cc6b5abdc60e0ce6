package delivery

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// adoption returns the rule for an Application that exists on the cluster already. The Application's author cannot
// override the hub's setting "never".
func (v *view) adoption() string {
	asked := v.App.Annotations[apis.AnnotationAdopt]
	if asked == "" || v.Adopt == apis.AdoptNever {
		return v.Adopt
	}
	return asked
}

// claims are the update modes of a new work, by the rule for an existing Application.
var claims = map[string]work.UpdateMode{
	apis.AdoptNever: work.ReadOnly, apis.AdoptMatching: work.Apply, apis.AdoptAlways: work.ForceApply,
}

// claim sets the update mode of a rendered work. A rendered work takes its target on the cluster by force. While the
// adoption is undecided, claim makes the work ask first.
//
// A work that asked and got the Application is not rewritten only to change the mode. The next change of the work sets
// the mode ForceApply. A later apply may be refused, because an edit on the cluster conflicts with the delivered
// fields. The work then asks the agent for the owner of the Application. If the work is the owner, claim sets the mode
// ForceApply.
func (v *view) claim(desired *workv1.ManifestWork, to *argocd.Application) {
	if sentTo(to, v.Own) == nil {
		if !v.broughtBefore(to) {
			work.SetUpdateMode(desired, claims[v.adoption()])
		}
		return
	}
	claim, own := work.UpdateModeOf(v.Own), v.report(v.Own)
	switch {
	case claim == work.ForceApply:
	case claim == work.Apply && own.Applied():
		work.SetUpdateMode(desired, work.Apply)
		if _, changed := work.Update(v.Own, desired); changed {
			work.SetUpdateMode(desired, work.ForceApply)
		}
	case claim == work.ReadOnly && own.Found() != metav1.ConditionFalse && !own.FoundReleased():
		work.SetUpdateMode(desired, claims[v.adoption()])
	case own.RefusedForMark(): // by force: all other fields equal the hub's, or belong to the agent or to no manager
	case own.RefusedForEdit(): // by force: the hub decides about its own Application
	case v.adoption() != apis.AdoptAlways:
		work.SetUpdateMode(desired, work.Apply) // also for an absent or own Application: an Application may have appeared since
		if own.Conflicts() != "" || work.AsksOrigin(v.Own) {
			work.AskOrigin(desired)
		}
	}
}

// claimsDirectly reports whether the work compares the cluster's existing Application by the addresses of the Git servers,
// although the Application is to read through the hub. An existing Application names the author's addresses, and the
// addresses at the agent would always be different values. After the adoption, the next write changes the addresses.
func (v *view) claimsDirectly() bool {
	own := v.sent()
	switch {
	case v.App.SourceAddress == "" || own == nil || work.UpdateModeOf(own) != work.Apply || !work.AsksOrigin(own) || v.report(own).Applied():
		return false
	case !work.ReadsThroughHub(own): // after a refusal
		return true
	}
	status := v.report(own)
	return status.Reported() && !status.RefusedForEdit() && strings.Contains(status.Conflicts(), ".spec.source")
}

// broughtBefore reports whether the work of an earlier Application of the same name has delivered the cluster's
// Application.
func (v *view) broughtBefore(to *argocd.Application) bool {
	return slices.ContainsFunc(v.Others, func(w *workv1.ManifestWork) bool {
		return w.Namespace == to.Cluster() && sentTo(to, w) != nil && (work.UpdateModeOf(w) == work.ForceApply || v.report(w).Applied())
	})
}

// adoptionRefused is the notice that the work may not take over the cluster's existing Application.
var adoptionRefused = &Gate{Name: "adoption", Type: problem, Reason: apis.ReasonAdoptionRefused}

// adopted returns the block of adoptionRefused for the work of an Application.
func (v *view) adopted(w *workv1.ManifestWork, to *argocd.Application) block {
	why := v.report(w).RefusedBy()
	if why == "" {
		return pass
	}
	problem := blockf("cluster %s already has an Application %s/%s, which stays unchanged", w.Namespace, to.ClusterNamespace(), to.Name)
	if work.UpdateModeOf(w) == work.ReadOnly {
		problem.Message += ": delete the Application on the cluster, give the hub's Application a different name, or permit Towline to take over " +
			"the cluster's Application (" + apis.AnnotationAdopt + ", --adopt)"
		return problem
	}
	problem.Message += ", because other writers have set some of its fields to different values: make the values equal, or "
	if v.Adopt == apis.AdoptNever {
		problem.Message += "delete the Application on the cluster. " + why // no annotation overrides the hub's setting
		return problem
	}
	problem.Message += "set the annotation " + apis.AnnotationAdopt + " to \"always\". " + why
	return problem
}

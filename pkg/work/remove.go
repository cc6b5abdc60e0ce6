package work

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
)

// PrepareRemoval prepares a work for its deletion, and reports whether the work had to change. The deletion then removes
// the Application from the cluster. The finalizers of Argo CD decide about the workload: without a destroying
// finalizer, the workload stays. The side manifests of the work stay too. PrepareRemoval returns the work itself if the
// work is prepared already, carries a request, has the mode CreateOnly, or has no readable Application.
//
// A changed work asks the agent for the remaining finalizers (see RemainingFinalizers) and the owner of the Application. A work that
// the agent cannot apply counts as prepared only if the work asks. The Application in the work has exactly the given
// finalizers, because an earlier version of Towline sent finalizers that no controller on the cluster removes.
//
// A work that owns the Application gets the mode ForceApply, so edits by others do not keep the Application. A work
// not yet seen by the agent becomes ReadOnly: the agent must not create an Application in order to remove it. A user
// on the cluster may remove the destroying finalizer. The work then restores the finalizer before its deletion.
func PrepareRemoval(w *workv1.ManifestWork, finalizers []string) (*workv1.ManifestWork, bool) {
	held, ok := Carried(w)
	if !ok || CarriesRequest(w) || UpdateModeOf(w) == CreateOnly {
		return w, false
	}
	r := ReportOf(w)
	own := r.OwnedBy(w) && r.mode != ForceApply
	applies := isFirst(w) || r.outcome != metav1.ConditionFalse && r.mode != ReadOnly
	cascades := argocd.Destroys(finalizers) && (!r.brought() || r.Cascades())
	prepared := sameDeletion(w) && sameSet(held.Finalizers, finalizers) && (ReportsFinalizers(w) || applies && cascades)
	if prepared && !own {
		return w, false
	}
	out := w.DeepCopy()
	setRules(out, held)
	switch {
	case own, r.mode == Apply && r.outcome == metav1.ConditionTrue:
		SetUpdateMode(out, ForceApply)
	case !Seen(w):
		SetUpdateMode(out, ReadOnly)
	}
	if setFinalForm(out, finalizers) != nil {
		return w, false
	}
	return out, true
}

// setFinalForm gives the Application of a leaving work exactly the given finalizers, and adds the feedback rule about the
// finalizers.
func setFinalForm(w *workv1.ManifestWork, finalizers []string) error {
	w.Spec.DeleteOption = keeping(w)
	return setFinalizers(w, finalizers, setFinalizersRule(w, true))
}

// TakesWorkload reports whether the Application in a work has a finalizer for the removal of the workload.
func TakesWorkload(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && argocd.Destroys(held.Finalizers)
}

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// setFinalizers gives the Application in a work exactly the given finalizers and the given mark; an empty mark is
// removed.
func setFinalizers(w *workv1.ManifestWork, finalizers []string, mark string) error {
	for i := range w.Spec.Workload.Manifests {
		if _, other := otherThanApplication(w.Spec.Workload.Manifests[i].Raw); other {
			continue
		}
		raw, err := payload.SetFinalizers(w.Spec.Workload.Manifests[i].Raw, finalizers, mark)
		if err != nil {
			return err
		}
		w.Spec.Workload.Manifests[i].Raw = raw
	}
	return nil
}

package dependency

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// everybody stands for all Applications of a cluster, in the place of so many that a work cannot name them.
var everybody = types.NamespacedName{Namespace: "*", Name: "*"}

// maxReleasedTo is how many bytes of a work's annotations may name Applications. An object has 256 KiB for all of them.
const maxReleasedTo = 64 << 10

// IsReleasedTo tells whether an Application of the cluster is among those that ReleasedTo names.
func IsReleasedTo(w *workv1.ManifestWork, app types.NamespacedName) bool {
	left := ReleasedTo(w)
	return slices.Contains(left, app) || slices.Contains(left, everybody)
}

// ReleasedTo are the Applications of the cluster, sorted, that were released and go on using what a dependency work
// carries. "*/*" is among them when they are, or were once, too many to name: those are never forgotten one by one.
func ReleasedTo(w *workv1.ManifestWork) []types.NamespacedName {
	var out []types.NamespacedName
	for entry := range strings.SplitSeq(w.Annotations[apis.AnnotationReleasedTo], ",") {
		if namespace, name, ok := strings.Cut(entry, "/"); ok {
			out = append(out, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// Release changes a work so that it remembers those Applications, and so that its deletion leaves what it carries on the
// cluster, without the marks of the hub's controllers that an earlier version sent. An agent (v1.2.0) that has applied the
// work so has taken the work's mark of ownership off.
func Release(w *workv1.ManifestWork, to []types.NamespacedName) {
	work.Unmark(w)
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	delete(w.Annotations, apis.AnnotationReleasedTo)
	if len(to) == 0 {
		return
	}
	text := make([]string, len(to))
	for i, app := range to {
		text[i] = app.String()
	}
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}
	slices.Sort(text)
	names := strings.Join(slices.Compact(text), ",")
	if len(names) > maxReleasedTo || slices.Contains(to, everybody) {
		names = everybody.String()
	}
	w.Annotations[apis.AnnotationReleasedTo] = names
}

// Untouched changes a work so that the agent takes off no more than its mark of ownership, which it does not where it
// would have to overwrite what somebody else has changed. It still says how to apply what it carries, for SetKept and SetTaken.
func Untouched(w *workv1.ManifestWork) { setStrategy(w, workv1.UpdateStrategyTypeCreateOnly) }

// SetKept changes a work so that it says nothing of an end any more. What was Untouched is applied again, without force: to
// own it and no more would have the deletion take what the cluster never let the agent have. Marks of the hub's controllers
// that an earlier version sent go as well.
func SetKept(w *workv1.ManifestWork) {
	work.Unmark(w)
	w.Spec.DeleteOption = nil
	delete(w.Annotations, apis.AnnotationReleasedTo)
	setStrategy(w, workv1.UpdateStrategyTypeServerSideApply)
}

// SetTaken changes a work so that its deletion takes what it carries off the cluster, whatever it said before.
func SetTaken(w *workv1.ManifestWork) {
	SetKept(w)
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
}

// Force makes the agent apply the objects of a work by force, over the fields of other owners. Public keys of the cluster stay.
func Force(w *workv1.ManifestWork) {
	for i := range w.Spec.ManifestConfigs {
		if s := w.Spec.ManifestConfigs[i].UpdateStrategy; s != nil && s.ServerSideApply != nil && !ofKeys(w.Spec.ManifestConfigs[i]) {
			s.ServerSideApply.Force = true
		}
	}
}

// Forced tells whether it does.
func Forced(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && !slices.ContainsFunc(w.Spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
		return !ofKeys(c) && (c.UpdateStrategy == nil || c.UpdateStrategy.ServerSideApply == nil || !c.UpdateStrategy.ServerSideApply.Force)
	})
}

func setStrategy(w *workv1.ManifestWork, strategy workv1.UpdateStrategyType) {
	for i := range w.Spec.ManifestConfigs {
		config := &w.Spec.ManifestConfigs[i]
		if config.UpdateStrategy == nil {
			config.UpdateStrategy = &workv1.UpdateStrategy{}
		}
		config.UpdateStrategy.Type = strategy
	}
}

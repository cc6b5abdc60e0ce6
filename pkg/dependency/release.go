package dependency

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// everybody stands for all Applications of a cluster, if a work has too many names to list.
var everybody = types.NamespacedName{Namespace: "*", Name: "*"}

// maxReleasedTo is the maximum number of bytes for Application names in a work's annotations. All annotations of an
// object share 256 KiB.
const maxReleasedTo = 64 << 10

// IsReleasedTo reports whether ReleasedTo includes an Application of the cluster.
func IsReleasedTo(w *workv1.ManifestWork, app types.NamespacedName) bool {
	left := ReleasedTo(w)
	return slices.Contains(left, app) || slices.Contains(left, everybody)
}

// ReleasedTo returns the sorted released Applications of the cluster that still use the objects of a dependency work.
// The entry "*/*" stands for too many Applications to list, now or earlier. Towline never removes single Applications
// from such a list.
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

// Release writes the Applications into a work, and makes its deletion leave the objects on the cluster. It also
// removes the marks of the hub's controllers that an earlier version sent. After the agent (v1.2.0) has applied the
// work, the objects no longer have the work's mark of ownership.
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

// untouched makes the agent only remove its mark of ownership. If the removal would overwrite changes of other
// owners, even the mark stays. The work keeps the settings of its update strategy for SetKept and setTaken.
func untouched(w *workv1.ManifestWork) { setStrategy(w, workv1.UpdateStrategyTypeCreateOnly) }

// SetKept removes all settings for a deletion from a work. An untouched work is applied again, without force. If the
// agent only owned the objects again, the deletion would remove objects that the cluster never let the agent apply.
// SetKept also removes the marks of the hub's controllers that an earlier version sent.
func SetKept(w *workv1.ManifestWork) {
	work.Unmark(w)
	w.Spec.DeleteOption = nil
	delete(w.Annotations, apis.AnnotationReleasedTo)
	setStrategy(w, workv1.UpdateStrategyTypeServerSideApply)
}

// setTaken makes the deletion of a work remove the objects from the cluster, regardless of earlier settings.
func setTaken(w *workv1.ManifestWork) {
	SetKept(w)
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
}

// Force makes the agent apply the objects of a work by force, over the fields of other owners. Public keys of the
// cluster stay.
func Force(w *workv1.ManifestWork) {
	for i := range w.Spec.ManifestConfigs {
		if s := w.Spec.ManifestConfigs[i].UpdateStrategy; s != nil && s.ServerSideApply != nil && !ofKeys(w.Spec.ManifestConfigs[i]) {
			s.ServerSideApply.Force = true
		}
	}
}

// Forced reports whether the agent applies all objects of a work by force, except public keys.
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

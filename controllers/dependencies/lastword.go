package dependencies

import (
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/dependency"
)

// lastWord is what a work says before it goes; nil when that does not matter. An AppProject stays on its cluster in any
// case, and so do the hub's originals, what its owner lets go of and what is left to somebody.
func lastWord(existing *workv1.ManifestWork, want want) (*workv1.ManifestWork, error) {
	switch {
	case want.letGo, want.originals:
		return leave(existing, want.left), nil
	case isProject(existing):
		return dependency.FinalProject(leave(existing, want.left))
	case len(want.left) > 0 && !want.withdrawn:
		return leave(existing, want.left), nil
	case existing.Spec.DeleteOption == nil:
		return nil, nil //nolint:nilnil // documented
	}
	last := existing.DeepCopy() // it was to stay, and the agent has to own it again before it can go
	dependency.Take(last)
	return last, nil
}

// kept is a work as it is, but for whom it is left to.
func kept(existing *workv1.ManifestWork, want want) *workv1.ManifestWork {
	if len(want.left) > 0 || want.originals || isProject(existing) {
		return leave(existing, want.left)
	}
	out := existing.DeepCopy()
	dependency.Keep(out)
	return out
}

// leave is a work whose deletion leaves all that it carries on the cluster, to those Applications. Where the agent has
// been refused some of it, it is not to try that again, only to take off its mark of ownership.
func leave(existing *workv1.ManifestWork, to []types.NamespacedName) *workv1.ManifestWork {
	out := existing.DeepCopy()
	dependency.Release(out, to)
	if seen(existing) && !applied(existing) && !isProject(existing) {
		dependency.Untouched(out)
	}
	return out
}

func isProject(w *workv1.ManifestWork) bool {
	kind, _ := dependency.KindOf(w.Name)
	return kind == dependency.Project
}

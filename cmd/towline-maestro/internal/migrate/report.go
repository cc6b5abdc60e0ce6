package migrate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reported is what an agent has said of a work, for a copy of the work whose spec has another version. What it has said of the present
// spec it has said of the copy's; anything else was about an earlier one.
func reported(from *workv1.ManifestWork, generation int64) workv1.ManifestWorkStatus {
	status := *from.Status.DeepCopy()
	about := func(conditions []metav1.Condition) {
		for i := range conditions {
			if conditions[i].ObservedGeneration == from.Generation {
				conditions[i].ObservedGeneration = generation
			} else {
				conditions[i].ObservedGeneration = generation - 1
			}
		}
	}
	about(status.Conditions)
	for i := range status.ResourceStatus.Manifests {
		about(status.ResourceStatus.Manifests[i].Conditions)
	}
	return status
}

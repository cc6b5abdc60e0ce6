package migrate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reported returns the agent's status of a work for a copy of the work with a different generation. Conditions about
// the present spec get the generation of the copy. All further conditions get the generation before.
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

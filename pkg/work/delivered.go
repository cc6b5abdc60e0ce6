package work

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Delivered tells whether the work of an Application's Key has brought the Application to its cluster. The work must be the
// Application's own and stay. While a change is on its way, the answer holds for what the agent applied before the change.
//
// A cluster may write the whole work. So a cluster can pretend the delivery of Applications that the hub sends to this cluster, and of no
// others.
func Delivered(w *workv1.ManifestWork, app *argocd.Application) bool {
	if !w.DeletionTimestamp.IsZero() || Disabled(w) || Released(w) || len(w.Spec.ManifestConfigs) == 0 {
		return false
	}
	if of, ok := HubApplication(w); !ok || of != (types.NamespacedName{Namespace: app.Namespace, Name: app.Name}) {
		return false
	}
	if w.Spec.ManifestConfigs[0].ResourceIdentifier != Identifier(app) {
		return false
	}
	switch UpdateModeOf(w) {
	case ForceApply:
		return meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
	case Apply:
		return Outcome(w) == metav1.ConditionTrue
	}
	return false // the Application on the cluster may be another tenant's
}

package work

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Delivered reports whether the work with an Application's Key has delivered the Application to its cluster. The work
// must belong to the Application, and must not be disabled, released or in deletion. During a change of a work with
// the mode ForceApply, the answer is about the state before the change. With the mode Apply, the answer is false until
// the agent has applied the change. With other modes, the answer is always false.
//
// A cluster can write the whole work. A cluster can therefore fake the delivery of Applications for this cluster, and
// of no others.
func Delivered(w *workv1.ManifestWork, app *argocd.Application) bool {
	if !w.DeletionTimestamp.IsZero() || Disabled(w) && !ByOlder(w) || Released(w) || len(w.Spec.ManifestConfigs) == 0 {
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

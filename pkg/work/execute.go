package work

import (
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ExecuteAs makes the agent apply a work with the rights of a ServiceAccount on the cluster. The zero value removes
// the executor from the work.
func ExecuteAs(w *workv1.ManifestWork, account types.NamespacedName) {
	if account.Name == "" {
		w.Spec.Executor = nil
		return
	}
	w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type:           workv1.ExecutorSubjectTypeServiceAccount,
		ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: account.Namespace, Name: account.Name},
	}}
}

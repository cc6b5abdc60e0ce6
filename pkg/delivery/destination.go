package delivery

import (
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// checkDestination blocks a takeover that would move the workload to another cluster. The Application's own
// annotation for adoption permits the move.
func checkDestination(v *view) block {
	if !v.owns() || v.App.Annotations[apis.AnnotationAdopt] == apis.AdoptAlways {
		return pass
	}
	was, redirected := work.Redirected(v.Own, v.App)
	if !redirected {
		return pass
	}
	keep := fmt.Sprintf("set the annotation %s", was.Annotation())
	if was.Canonical() == argocd.InCluster {
		keep = fmt.Sprintf("remove the annotations %s and %s", apis.AnnotationDestinationName, apis.AnnotationDestinationServer)
	}
	return blockf("an older controller sent the Application with the destination %q, and Towline would use the destination %q: to keep the "+
		"workload in its place, %s. To move the workload, set the annotation %s to %q. Until then, cluster %s keeps the Application unchanged",
		was, v.App.DestinationThere(), keep, apis.AnnotationAdopt, apis.AdoptAlways, v.Own.Namespace)
}

// checkHubOperation blocks an Application while a sync by the hub's own Argo CD has not ended. With skip-reconcile,
// the hub's Argo CD (2.14 to 3.5) does not continue the sync, and the cluster would run the sync again.
func checkHubOperation(v *view) block {
	begun := v.App.Status.Pushed && v.App.Operation != nil && v.App.Status.OperationState.Running()
	if !begun || len(v.all()) > 0 {
		return pass
	}
	return blockf("the hub's own Argo CD has begun a sync that has not ended: remove the annotation %s until the sync has ended. To abandon "+
		"the sync instead, remove the operation: kubectl -n %s patch applications.argoproj.io %s --type merge -p '{\"operation\":null}'",
		apis.AnnotationSkipReconcile, v.App.Namespace, v.App.Name)
}

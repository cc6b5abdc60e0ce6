package delivery

import (
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// checkDestination blocks a takeover that would move the workload to another cluster. The Application's own annotation for adoption
// permits the move.
func checkDestination(v *view) verdict {
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
	return blockf("an older controller sent the Application with the destination %q, and Towline would send it with %q: to keep "+
		"the workload where it is, %s. To move the workload, set the annotation %s to %q. Until then, cluster %s keeps the Application unchanged",
		was, v.App.DestinationThere(), keep, apis.AnnotationAdopt, apis.AdoptAlways, v.Own.Namespace)
}

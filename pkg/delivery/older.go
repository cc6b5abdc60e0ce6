package delivery

import (
	"fmt"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// This file has all decisions about works of older controllers. The first write of Towline, the takeover, replaces the
// whole content of such a work. Package work reads the forms of these works.

// enableFirst restores the mode of a work that an older controller has set to ReadOnly. The agent's answer is then about
// the former mode: see work.Disabled. The change of the work wakes the controller for the next decision.
var enableFirst = &Gate{Name: "disabled", step: func(v *view, s *subject) block {
	if s.untouched {
		return done
	}
	return enable(v, s)
}}

// enableToSend is enableFirst for the own work. The takeover rewrites the works that older controllers wrote, and needs
// no earlier write, unless the Application first has to leave its namespace.
var enableToSend = &Gate{Name: "disabled", step: func(v *view, _ *subject) block {
	if v.Own == nil || work.ByOlder(v.Own) && !v.relocates() {
		return done
	}
	return enable(v, v.subject(v.Own))
}}

func enable(v *view, s *subject) block {
	if v.deletionRequested(s.ManifestWork) || !work.Disabled(s.ManifestWork) {
		return done
	}
	return blockf("an older controller has set ManifestWork %s/%s to ReadOnly, and Towline restores the update strategy", s.Namespace, s.Name).
		changing(s.ManifestWork, work.Enabled(s.ManifestWork))
}

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

// abandoned reports whether an older controller left a work on another cluster after a move of the Application. Older
// controllers never deleted such works, and users may rely on the running copy.
func (v *view) abandoned(w *workv1.ManifestWork) bool {
	return w.Namespace != v.App.Cluster() && work.ByOlder(w) && !v.deletionRequested(w)
}

// abandonedCopies describes abandoned works, and the possible action; empty for none.
func abandonedCopies(ws works) string {
	if len(ws) == 0 {
		return ""
	}
	var names, clusters []string
	for _, w := range ws {
		names, clusters = append(names, w.Namespace+"/"+w.Name), append(clusters, "cluster "+w.Namespace)
	}
	return fmt.Sprintf("%s keeps a copy from an older controller. To remove this copy and its deployed resources, delete ManifestWork %s",
		strings.Join(clusters, ", "), strings.Join(names, ", "))
}

package propagation

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// tellOfRefusal says of a work whose Application is gone why it waits: its deletion would destroy what is to stay.
func (r *Reconciler) tellOfRefusal(ctx context.Context, w *workv1.ManifestWork) {
	why := obstacle(w)
	if why == "" {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Kept a ManifestWork whose Application is gone: its cluster has or refuses what keeps the workload",
		"work", client.ObjectKeyFromObject(w).String(), "why", why)
	r.Events.Eventf(w, nil, corev1.EventTypeWarning, apis.ReasonRemovalRefused, "Delete",
		"the hub's Application is gone, and what it deployed is to stay, but %.700s. The work goes when that is mended, or the "+
			"Application is gone there. Deleted before, it takes along what was deployed", why)
}

// obstacle is why the end of a work would destroy what its Application deployed though the work says that it is to stay:
// its cluster cannot apply that, or the Application has finalizers of others there. It is empty where none is known of.
func obstacle(w *workv1.ManifestWork) string {
	switch work.Outcome(w) {
	case metav1.ConditionFalse:
		return "cluster " + w.Namespace + " refuses that: " + whyNotApplied(w)
	case metav1.ConditionTrue:
		if left, known := work.Left(w); known && len(left) > 0 {
			return heldByOthers(w, left)
		}
	}
	return ""
}

// heldByOthers says which finalizers the cluster's Application has by others, and how to take them off.
func heldByOthers(w *workv1.ManifestWork, left []string) string {
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	return fmt.Sprintf("others on cluster %s gave the Application there the finalizer %s, by which its end would destroy what it deployed: "+
		`take that off there, as by kubectl -n %s patch applications.argoproj.io %s --type merge -p '{"metadata":{"finalizers":null}}'`,
		w.Namespace, strings.Join(left, ", "), id.Namespace, id.Name)
}

// obstacles are those of works that have been told to leave what their Application deployed, to be put behind a notice.
func obstacles(works []workv1.ManifestWork) string {
	var b strings.Builder
	for i := range works {
		w := &works[i]
		if why := obstacle(w); why != "" && work.TellsLeft(w) && w.DeletionTimestamp.IsZero() && !absent(w) {
			b.WriteString("; but " + why)
		}
	}
	return b.String()
}

// whyNotApplied is the cluster's words on a work that it could not apply.
func whyNotApplied(w *workv1.ManifestWork) string {
	if c := said(w, workv1.WorkApplied); c != nil && c.Message != "" {
		return c.Message
	}
	return "it could not apply the ManifestWork"
}

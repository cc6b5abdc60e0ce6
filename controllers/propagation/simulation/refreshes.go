package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// refreshes checks that a refresh leaves the hub only after a comparison on the cluster since the request, or with a
// condition about the drop. A second request during a refresh joins the refresh, as in Argo CD. Towline's own refresh
// after a change is answered by any comparison since the change. refreshes is called before the record has the new
// version.
func (o *oracle) refreshes(at key, r *record, now *argocd.Application) {
	before := ""
	if r.app != nil && !r.gone && r.app.UID == now.UID {
		before = r.app.Refresh()
	}
	asked, word := now.Refresh(), warned(now)
	told := word != nil && o.world.now.Sub(word.Time) < time.Minute // the refresh before may have been dropped with the same condition a moment ago
	switch {
	case asked != "" && before == "":
		r.compared = false
	case asked == "" && before != "" && before != apis.RefreshSpecChanged && !r.compared && !told:
		o.world.fail("refresh", "%s/%s: the refresh %q counts as answered, and no cluster has compared since it was asked for",
			at.Namespace, at.Name, before)
	}
}

// warned returns when a refresh was last dropped with a condition; nil for never.
func warned(app *argocd.Application) *metav1.Time {
	i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionRefreshWarning)
	if i < 0 {
		return nil
	}
	return app.Status.Conditions[i].LastTransitionTime
}

// compared is called after a comparison by a cluster's Argo CD for a refresh.
func (o *oracle) compared(a *placed) {
	if r := o.apps[a.owner()]; r != nil {
		r.compared = true
	}
}

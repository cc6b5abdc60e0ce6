package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// refreshes holds that a refresh goes from the hub once a cluster has compared since it was asked for, or with a word of why it was
// dropped. Who asks again while the refresh is there joins it, as with Argo CD itself. What Towline asks for after a change is answered by
// each comparison since that change. It is called before the record has the new version.
func (o *oracle) refreshes(at key, r *record, now *argocd.Application) {
	before := ""
	if r.app != nil && !r.gone && r.app.UID == now.UID {
		before = r.app.Refresh()
	}
	asked, word := now.Refresh(), warned(now)
	told := word != nil && o.world.now.Sub(word.Time) < time.Minute // the one before may have been dropped with the same word just now
	switch {
	case asked != "" && before == "":
		r.compared = false
	case asked == "" && before != "" && before != apis.RefreshSpecChanged && !r.compared && !told:
		o.world.fail("refresh", "%s/%s: the refresh %q counts as answered, and no cluster has compared since it was asked for",
			at.Namespace, at.Name, before)
	}
}

// warned is when a refresh was last dropped with a word; nil for never.
func warned(app *argocd.Application) *metav1.Time {
	i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionRefreshWarning)
	if i < 0 {
		return nil
	}
	return app.Status.Conditions[i].LastTransitionTime
}

// compared is called when a cluster's Argo CD has compared because of a refresh.
func (o *oracle) compared(a *placed) {
	if r := o.apps[a.owner()]; r != nil {
		r.compared = true
	}
}

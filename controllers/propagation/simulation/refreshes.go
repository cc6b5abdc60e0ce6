package simulation

import (
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
	asked, told := now.Refresh(), argocd.IndexCondition(now.Status.Conditions, apis.ConditionRefreshWarning) >= 0
	switch {
	case asked != "" && before == "":
		r.compared = false
	case asked == "" && before != "" && before != apis.RefreshSpecChanged && !r.compared && !told:
		o.world.fail("refresh", "%s/%s: the refresh %q counts as answered, and no cluster has compared since it was asked for",
			at.Namespace, at.Name, before)
	}
}

// compared is called when a cluster's Argo CD has compared because of a refresh.
func (o *oracle) compared(a *placed) {
	if r := o.apps[a.owner()]; r != nil {
		r.compared = true
	}
}

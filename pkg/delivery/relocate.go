package delivery

import (
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// relocating are the steps, in order, to move an Application to another namespace of the same cluster. After the
// steps, the Application is sent to the new namespace.
var relocating = []*Gate{
	{Name: "return", Type: forbidden, step: returnFirst},
	{Name: "relocation", Type: moving, Reason: apis.ReasonMoving, step: dropFinalizersFirst},
}

// relocates reports whether the work has the Application in another namespace of the same cluster, and the agent may
// have applied the Application there.
func (v *view) relocates() bool {
	if v.Own == nil || v.deletionRequested(v.Own) {
		return false
	}
	from := targetIn(v.Own, v.App)
	return from.Namespace != v.App.ClusterNamespace() && !v.unseen(v.App, v.Own) &&
		work.CarriesTo(v.Own, from) // otherwise the cluster has changed the content of the work
}

// allowed returns the Application, at the target and with the addresses of repositories that are allowed now. If the work
// carries a request, the target stays until the answer to the request.
func (v *view) allowed() *argocd.Application {
	app := v.App
	if v.claimsDirectly() {
		app = app.ReadingAt("")
	}
	if v.relocates() && work.CarriesRequest(v.Own) {
		return work.ApplicationOn(app, v.Own)
	}
	return app
}

// returnFirst handles a change of the namespace while the work carries a request. A request has no finalizers, so the
// Application must first return to its former place. A changed Application may not be permitted there any more, and
// the cluster's form of the Application is unknown. An agent that has not answered the request is awaited as usual,
// with the Application at its former place.
func returnFirst(v *view, _ *subject) block {
	switch {
	case !v.relocates() || !work.CarriesRequest(v.Own):
		return done
	case !v.knows(NeedReturn):
		return require(NeedReturn)
	}
	r := v.Return[v.Own.UID]
	if r == nil {
		return done
	}
	why, _, _ := strings.Cut(r.Message, ": ") // the advice after the colon is for an Application that asks for this place
	wait := blockf("moving from namespace %s to namespace %s of cluster %s: the Application in the old namespace has to lose its finalizers "+
		"first, so that the deployed resources stay. The Application has changed on the hub since the last operation was sent, and the new form "+
		"is not permitted in the old namespace: %s. Undo the change until the move is over, or permit the new form in the old namespace until then",
		v.allowed().ClusterNamespace(), v.App.ClusterNamespace(), v.App.Cluster(), why)
	wait.Reason = r.Reason
	return wait
}

// dropFinalizersFirst waits before a change of the namespace until the old Application has no finalizers. With the
// next write, the agent removes the old Application, and a cascade would remove the workload that the new Application
// takes over. The step waits until the agent has applied the change, and while users on the cluster hold the old
// Application by finalizers.
func dropFinalizersFirst(v *view, _ *subject) block {
	if !v.relocates() || work.CarriesRequest(v.Own) {
		return done
	}
	wait := blockf("moving to namespace %s of cluster %s: waiting for its work agent to remove the finalizers from the Application in namespace "+
		"%s, so that the deployed resources stay", v.App.ClusterNamespace(), v.App.Cluster(), targetIn(v.Own, v.App).Namespace)
	updated, changed := work.PrepareRemoval(v.Own, nil)
	switch {
	case changed:
		return wait.changing(v.Own, updated)
	case v.report(v.Own).FinalizersDropped(false), v.keptThere():
		return done
	case blocker(v.report(v.Own)) != "":
		wait.Message += "; but " + blocker(v.report(v.Own)) + ". To change the Application in the old namespace, undo the change of namespace"
	}
	return v.askAgain(v.Own, wait)
}

// keptThere reports whether the Application in the old namespace belongs to the work of an earlier Application of the
// same name. A restore of the hub may have brought the earlier Application back. The old Application then stays when
// the own work leaves. The earlier work ends after the apply of the own work.
func (v *view) keptThere() bool {
	changesNothing := work.UpdateModeOf(v.Own) == work.ReadOnly || v.report(v.Own).Conflicts() != ""
	return changesNothing && slices.ContainsFunc(v.staying(v.Others), func(w *workv1.ManifestWork) bool { return v.report(v.Own).OwnedBy(w) })
}

// relabel adds labels to an own work that the cache does not show, because the cache selects works by label. The
// steps before the work leaves its target follow when the cache shows the work. relabel reports whether the decision
// ends here.
func (d *decision) relabel() bool {
	switch {
	case !d.OwnUnwatched || d.Own == nil || !d.owns():
		return false
	case d.deletionRequested(d.Own): // the next work is created after the end of this work, perhaps without a watch
	case targetIn(d.Own, d.App).Namespace == d.App.ClusterNamespace():
		return false
	default:
		labelled := d.Own.DeepCopy()
		if label(labelled, d.App) {
			d.plan.addStep(Step{Write: work.Change(d.Own, labelled)})
		}
	}
	d.plan.Silent = true
	d.plan.addWait(Wait{After: poll})
	return true
}

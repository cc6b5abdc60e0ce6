package delivery

import (
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// relocating are the steps by which an Application leaves another namespace of its cluster, from first to last. Then it is sent to the new
// one.
var relocating = []*Gate{
	{Name: "return", Type: forbidden, step: returnFirst},
	{Name: "relocation", Type: moving, Reason: apis.ReasonMoving, step: dropFinalizersFirst},
}

// relocates tells whether the Application's work has it in another namespace of the same cluster, where the agent may have
// brought it.
func (v *view) relocates() bool {
	if v.Own == nil || v.deletionRequested(v.Own) {
		return false
	}
	from := targetIn(v.Own, v.App)
	return from.Namespace != v.App.ClusterNamespace() && !unseen(v.App, v.Own) &&
		work.CarriesTo(v.Own, from) // otherwise the cluster has changed what the work carries
}

// allowed is the Application, at the target where its work may have it now. A work that carries a request has the Application where it was
// until that is answered.
func (v *view) allowed() *argocd.Application {
	if v.relocates() && work.CarriesRequest(v.Own) {
		return work.At(v.App, v.Own)
	}
	return v.App
}

// returnFirst is for an Application that is to change its namespace there while its work carries a request. It has to be put back
// where it was first, since the request says nothing of its finalizers. It may not be there any more, and has changed since: what
// the cluster has is not known then. An agent that has not answered a request yet is waited for as usual, with the Application
// where it was.
func returnFirst(v *view, _ *subject) outcome {
	switch {
	case !v.relocates() || !work.CarriesRequest(v.Own):
		return done
	case !v.knows(NeedReturn):
		return outcome{verdict: require(NeedReturn)}
	}
	r := v.Return[v.Own.UID]
	if r == nil {
		return done
	}
	why, _, _ := strings.Cut(r.Message, ": ") // the advice after the colon is for an Application that wants this place
	wait := waitf("moving from namespace %s to namespace %s of cluster %s: the Application there has to lose its finalizers first, so that what it "+
		"deployed stays. It has changed on the hub since an operation was sent to it, and in its new form may not be sent there: %s. Undo the "+
		"change until it has moved, or permit it there until then",
		v.allowed().ClusterNamespace(), v.App.ClusterNamespace(), v.App.Cluster(), why)
	wait.Reason = r.Reason
	return wait
}

// dropFinalizersFirst is for an Application that is to change its namespace there. With the work's next word the agent removes the
// Application in the old one, and a cascade would take the workload, which the new one is to take over: so the old one loses
// its finalizers first. That is waited for until the agent has applied it, and as long as others there hold the old one by theirs.
func dropFinalizersFirst(v *view, _ *subject) outcome {
	if !v.relocates() || work.CarriesRequest(v.Own) {
		return done
	}
	wait := waitf("moving to namespace %s of cluster %s: waiting for its work agent to remove the finalizers from the Application in namespace %s, "+
		"so that what it deployed stays", v.App.ClusterNamespace(), v.App.Cluster(), targetIn(v.Own, v.App).Namespace)
	updated, changed := work.Removable(v.Own, nil)
	switch {
	case changed:
		return wait.changing(v.Own, updated)
	case work.FinalizersDropped(v.Own, false), v.keptThere():
		return done
	case blocker(v.Own) != "":
		wait.Words += "; but " + blocker(v.Own) + ". To change the Application there, undo the change of namespace"
	}
	return v.askAgain(v.Own, wait)
}

// keptThere tells whether the Application in the old namespace belongs to the work of an earlier Application of the name, put back by a
// restore of the hub, so that it stays when the own work leaves. The earlier work ends when the own one has been applied.
func (v *view) keptThere() bool {
	changesNothing := work.UpdateModeOf(v.Own) == work.ReadOnly || work.Refused(v.Own) != ""
	return changesNothing && slices.ContainsFunc(v.staying(v.Others), func(w *workv1.ManifestWork) bool { return work.OwnedBy(v.Own, w) })
}

// relabel puts labels on a work that the Application must have and that the cache, which looks for them, does not show. What
// has to be done before it leaves its target is done when the cache has it. It tells whether nothing else is to be done.
func (d *decision) relabel() bool {
	switch {
	case !d.OwnUnwatched || d.Own == nil || !d.owns():
		return false
	case d.deletionRequested(d.Own): // it is made anew when it is gone, which is perhaps not watched
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

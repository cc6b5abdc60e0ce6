package delivery

import (
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/work"
)

// relocates tells whether the Application's work has it in another namespace of the same cluster, where the agent may have
// brought it.
func (d *decision) relocates() bool {
	if d.Own == nil || d.leaving(d.Own) {
		return false
	}
	from := targetIn(d.Own, d.App)
	return from.Namespace != d.App.ClusterNamespace() && !unseen(d.App, d.Own) &&
		work.CarriesTo(d.Own, from) // otherwise the cluster has changed what the work carries
}

// askReturn is for an Application that is to change its namespace there while its work carries a request. It has to be put back
// where it was first, since the request says nothing of its finalizers. It may not be there any more, and has changed since: what
// the cluster has is not known then. An agent that has not answered a request yet is waited for as usual, with the Application
// where it was.
func askReturn(d *decision, _ question) answer {
	if !d.relocates() || !work.CarriesRequest(d.Own) || d.lacks(NeedReturn) {
		return open
	}
	d.to = work.At(d.App, d.Own)
	r := d.Return[d.Own.UID]
	if r == nil {
		return open
	}
	why, _, _ := strings.Cut(r.Message, ": ") // its advice is for one that asks to be there
	a := because("moving from namespace %s to namespace %s of cluster %s: the Application there has to lose its finalizers first, so that what it "+
		"deployed stays. It has changed on the hub since an operation was sent to it, and in its new form may not be sent there: %s. Undo the "+
		"change until it has moved, or permit it there until then",
		d.to.ClusterNamespace(), d.App.ClusterNamespace(), d.App.Cluster(), why)
	a.Reason = r.Reason
	return a
}

// askRelocation is for an Application that is to change its namespace there. With the work's next word the agent removes the
// Application in the old one, and a cascade would take the workload, which the new one is to take over: so the old one loses
// its finalizers first. That is waited for until the agent has applied it, and as long as others there hold the old one by theirs.
func askRelocation(d *decision, _ question) answer {
	if !d.relocates() || d.to != d.App {
		return open
	}
	a := because("moving to namespace %s of cluster %s: waiting for its work agent to remove the finalizers from the Application in namespace %s, "+
		"so that what it deployed stays", d.App.ClusterNamespace(), d.App.Cluster(), targetIn(d.Own, d.App).Namespace)
	updated, changed := work.Removable(d.Own, nil)
	switch {
	case changed:
		d.update(d.Own, updated)
	case work.FinalizersDropped(d.Own, false), d.keptThere():
		return open
	case blocker(d.Own) != "":
		a.Words += "; but " + blocker(d.Own) + ". To change the Application there, undo the change of namespace"
	}
	if !changed {
		a.After = d.askAgain(d.Own)
	}
	return a
}

// keptThere tells whether the Application in the old namespace belongs to the work of an earlier Application of the name, put back by a
// restore of the hub, so that it stays when the own work leaves. The earlier work ends when the own one has been applied.
func (d *decision) keptThere() bool {
	changesNothing := work.UpdateModeOf(d.Own) == work.ReadOnly || work.Refused(d.Own) != ""
	return changesNothing && slices.ContainsFunc(d.staying(d.Others), func(w *workv1.ManifestWork) bool { return work.OwnedBy(d.Own, w) })
}

// relabel puts labels on a work that the Application must have and that the cache, which looks for them, does not show. What
// has to be done before it leaves its target is done when the cache has it. It tells whether nothing else is to be done.
func (d *decision) relabel() bool {
	switch {
	case !d.OwnUnwatched || d.Own == nil || !d.owns():
		return false
	case d.leaving(d.Own): // it is made anew when it is gone, which is perhaps not watched
	case targetIn(d.Own, d.App).Namespace == d.App.ClusterNamespace():
		return false
	default:
		labelled := d.Own.DeepCopy()
		if d.label(labelled) {
			d.update(d.Own, labelled)
		}
	}
	d.plan.Silent = true
	d.wait(Wait{After: poll})
	return true
}

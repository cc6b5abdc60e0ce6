package delivery

import (
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// release is for an Application that asks to be released.
func (d *decision) release() {
	if h := d.held(Release, nil); h != nil {
		d.say(h)
		return
	}
	h := d.releaseAll(d.all())
	if h == nil {
		h = d.releasedWhile("the annotation " + apis.AnnotationRelease + " is true")
	}
	d.say(h)
}

// releasedWhile is what to tell of an Application that has been released, for as long as something holds. Of the end of each
// of its works an event has told.
func (d *decision) releasedWhile(holds string) *hold {
	return d.met("released", because(releasedWords+"what runs on a cluster stays there, and Towline does not manage it while %s", holds))
}

// releasedWords begin what is told of an Application that has been released.
const releasedWords = "released: "

// TellsReleased tells whether the message of a ReleaseWarning says that the Application has been released: it waits for nothing more.
func TellsReleased(message string) bool { return strings.HasPrefix(message, releasedWords) }

// endsRelease tells whether nothing that happens on a cluster is shown any more.
func (c Condition) endsRelease() bool { return c.Type == releasing && c.Reason == "" }

// disown is for an Application that has lost the pull label, or has one that says "false": what it had while it was Towline's is
// released, and it is ended when it is being deleted and nobody else would. One without the label is watched only while it is
// being deleted: what it shows is written as long as it has works, which are watched, and once more when they have gone. By what it
// shows it is known for one that was Towline's.
func (d *decision) disown() {
	going := !d.App.DeletionTimestamp.IsZero()
	switch ws := d.all(); {
	case going && d.stuck() && (d.wasOurs() || len(ws) > 0):
		d.endReleased()
	case len(ws) > 0:
		d.sayAny(d.releaseAll(ws))
	case going && d.Presence == Present:
		// Its finalizers are for the hub's own Argo CD to deal with.
	case going && d.Own == nil && Named(d.App) && d.lacks(NeedOwn):
	case !going:
		d.sayAny(d.leftBehind())
	}
}

// sayAny shows a hold where there is one.
func (d *decision) sayAny(h *hold) {
	if h != nil {
		d.say(h)
	}
}

// stuck tells whether the Application is held by finalizers that the hub's own Argo CD does not take off.
func (d *decision) stuck() bool {
	return d.App.ReconcileSkipped() && (d.App.Cascades() || d.Presence == Present)
}

// wasOurs tells whether an Application without the label asks for a cluster, or shows something of Towline's.
func (d *decision) wasOurs() bool {
	_, named := d.App.Annotations[apis.AnnotationCluster]
	return named || shows(d.App)
}

// released tells whether the Application shows that it is being released, or has been.
func released(app *argocd.Application) bool { return has(app, releasing) }

// leftBehind is what an Application shows when the last of its works has gone. The hub's own Argo CD may have taken it over:
// then nothing is Towline's to say.
func (d *decision) leftBehind() *hold {
	sent := released(d.App) || d.wasOurs() && reportedOn(d.App)
	if !sent || !d.App.ReconcileSkipped() {
		return nil
	}
	if d.Presence == Present {
		return d.releasedWhile("the label " + apis.LabelPull + " does not say true")
	}
	return d.releasedWhile("the label " + apis.LabelPull + " is not there")
}

// releaseAll releases works and leaves what they brought on their clusters: each is changed so that its deletion destroys
// nothing, and deleted when the agent has applied that; at once where the cluster has not seen it. All that has to be
// remembered is in the works, so it goes on after a restart, and is undone by writing the works as usual. One that cannot go on
// keeps no other. It returns what to tell as long as works are there; nil once there are none.
func (d *decision) releaseAll(ws works) (first *hold) {
	if len(ws) == 0 {
		return nil
	}
	for _, w := range ws {
		first = d.firstOf(first, d.leave(w))
	}
	if first == nil {
		first = d.met("release", because(
			"being released: waiting for the work agent of cluster %s to release the Application, which continues to run",
			strings.Join(clustersOf(ws), ", ")))
	}
	if d.OwnUnwatched {
		first.After = soonest(first.After, poll)
	}
	return first
}

// leave takes the next step of the release of one work. The work's changes and its end wake the decisions that go on.
func (d *decision) leave(w *workv1.ManifestWork) *hold {
	if d.leaving(w) {
		return nil
	}
	if h := d.held(Leave, w); h != nil {
		d.wait(h.Wait)
		return h.shown()
	}
	switch {
	case !d.remembered(): // that is shown first, which wakes the decision that goes on
	case unseen(d.App, w):
		d.delete(w, nothingSent)
	default:
		d.delete(w, leftThere)
	}
	return nil
}

// remembered tells whether the Application counts as Towline's when its works have gone. One that is being deleted, without its
// label and without a cluster, does by what it shows.
func (d *decision) remembered() bool {
	return d.App == nil || d.App.DeletionTimestamp.IsZero() || d.App.Pulled() || d.wasOurs()
}

// askReturned is for a work that carries a request, so that the Application as it is now has to be sent once more, and that may
// not be sent there.
func askReturned(d *decision, q question) answer {
	if d.App == nil || unseen(d.App, q.work) || work.Released(q.work) || !work.CarriesRequest(q.work) || d.lacks(NeedReturn) {
		return open
	}
	return refused(d.Return[q.work.UID])
}

// askPrepared is for a work whose agent has not applied yet that it leaves everything there.
func askPrepared(d *decision, q question) answer {
	w := q.work
	if unseen(d.App, w) || work.Released(w) && applied(w) {
		return open
	}
	if !work.Released(w) {
		updated, err := work.Release(w, d.App)
		if err != nil {
			return unsent(err)
		}
		d.update(w, updated)
	}
	return because("the work agent of cluster %s has not released the Application", w.Namespace)
}

// askDependencies is for a work whose Application uses what would go from the cluster with it. The change of what carries that
// wakes the decision that goes on.
func askDependencies(d *decision, q question) answer {
	if unseen(d.App, q.work) || d.lacks(NeedDependencies) || d.Dependencies[q.work.UID] {
		return open
	}
	return because("cluster %s has not confirmed that the dependencies of the Application stay there", q.work.Namespace)
}

package delivery

import (
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// releasingSteps are the steps by which a work leaves its Application on the cluster, from first to last. Then the work is deleted. The work
// remembers everything, so the release goes on after a restart, and is undone by writing the work as usual.
var releasingSteps = []*Gate{
	releasePaused,
	enableToRelease,
	withdrawFirst,
	{Name: "return of a request", Type: forbidden, step: returnRequest},
	{Name: "preparation", step: prepareRelease},
	dependenciesStay,
}

// The steps that a release shares with the hand-over to the hub's own Argo CD.
var (
	releasePaused    = &Gate{Name: "release paused", Type: paused, Reason: apis.ReasonPaused, step: waitForRelease}
	dependenciesStay = &Gate{Name: "dependencies", step: keepDependencies}
)

// The notices of a release under way, and of one that is over.
var (
	releaseNotice  = &Gate{Name: "release", Type: releasing, Reason: apis.ReasonReleasing, Quiet: true}
	releasedNotice = &Gate{Name: "released", Type: releasing, Quiet: true}
)

// releaseWork takes the next step of the release of one work. The work's changes and its end wake the decisions that go on.
func (d *decision) releaseWork(s *subject) *block {
	if d.deletionRequested(s.ManifestWork) {
		return nil
	}
	steps, as := releasingSteps, leftThere
	if d.handsOver(s.ManifestWork) {
		steps, as = handingOver, handedOver
	}
	if b := d.advance(steps, s); b != nil {
		d.plan.addWait(b.Wait)
		return b.shown()
	}
	switch {
	case s.app != nil && !d.remembered(): // that is shown first, which wakes the decision that goes on
	case unseen(s.app, s.ManifestWork):
		d.delete(s, nothingSent)
	default:
		d.delete(s, as)
	}
	return nil
}

// returnRequest is for a work that carries a request, so that the Application as it is now has to be sent once more, and that may
// not be sent there.
func returnRequest(v *view, s *subject) outcome {
	switch {
	case s.app == nil || unseen(s.app, s.ManifestWork) || work.Released(s.ManifestWork) || !work.CarriesRequest(s.ManifestWork):
		return done
	case !v.knows(NeedReturn):
		return outcome{verdict: require(NeedReturn)}
	}
	return outcome{verdict: refused(v.Return[s.UID])}
}

// prepareRelease is for a work whose agent has not confirmed yet that the cluster keeps everything.
func prepareRelease(_ *view, s *subject) outcome {
	w := s.ManifestWork
	if unseen(s.app, w) || work.Released(w) && applied(w) {
		return done
	}
	wait := waitf("the work agent of cluster %s has not released the Application", w.Namespace)
	if work.Released(w) {
		return wait
	}
	updated, err := work.Release(w, s.app)
	if err != nil {
		return outcome{verdict: unsent(err)}
	}
	return wait.changing(w, updated)
}

// keepDependencies is for a work whose Application uses what would go from the cluster with it. The change of what carries that
// wakes the decision that goes on.
func keepDependencies(v *view, s *subject) outcome {
	switch {
	case unseen(s.app, s.ManifestWork):
		return done
	case !v.knows(NeedDependencies):
		return outcome{verdict: require(NeedDependencies)}
	case v.Dependencies[s.UID]:
		return done
	}
	return waitf("cluster %s has not confirmed that the dependencies of the Application stay there", s.Namespace)
}

// releaseAll releases works. One that cannot go on keeps no other. It returns what to tell as long as works are there; nil once there are
// none.
func (d *decision) releaseAll(ws works) (first *block) {
	if len(ws) == 0 {
		return nil
	}
	for _, w := range ws {
		first = firstOf(first, d.releaseWork(d.subject(w)))
	}
	if first == nil {
		first = d.plan.blockAt(releaseNotice, d.waitsForRelease(ws))
	}
	if d.OwnUnwatched {
		first.After = soonest(first.After, poll)
	}
	return first
}

// release is for an Application that asks to be released.
func (d *decision) release() {
	b := d.firstBlock(Release)
	if b == nil {
		b = d.releaseAll(d.all())
	}
	if b == nil {
		b = d.plan.blockAt(releasedNotice, releasedWhile("the annotation "+apis.AnnotationRelease+" is true"))
	}
	d.plan.addCondition(b)
}

// releasedWhile is what to tell of an Application that has been released, for as long as something holds. Of the end of each
// of its works an event has told.
func releasedWhile(holds string) verdict {
	return blockf(releasedWords+"what runs on a cluster stays there, and Towline does not manage it while %s", holds)
}

// releasedWords begin what is told of an Application that has been released.
const releasedWords = "released: "

// TellsReleased tells whether the message of a ReleaseWarning says that the Application has been released: it waits for nothing more.
func TellsReleased(message string) bool { return strings.HasPrefix(message, releasedWords) }

// endsRelease tells whether nothing that happens on a cluster is shown any more.
func (c Condition) endsRelease() bool { return c.Type == releasing && c.Reason == "" }

// disown is for an Application that has lost the pull label, or has one that says "false": what it had while it was Towline's is
// released, and it is ended when it is being deleted and nobody else would. One without the label is watched only while it is
// being deleted: what it shows is written as long as it has works, which are watched, and once more when they have gone. Its status
// conditions show that Towline managed it.
func (d *decision) disown() {
	going := !d.App.DeletionTimestamp.IsZero()
	switch ws := d.all(); {
	case going && d.stuck() && (d.wasOurs() || len(ws) > 0):
		d.endReleased()
	case len(ws) > 0:
		d.plan.addCondition(d.releaseAll(ws))
	case going && d.Presence == Present:
		// Its finalizers are for the hub's own Argo CD to deal with.
	case going && d.Own == nil && Named(d.App):
		d.require(NeedOwn)
	case !going && d.leftBehind():
		holds := "the label " + apis.LabelPull + " is not there"
		if d.Presence == Present {
			holds = "the label " + apis.LabelPull + " does not say true"
		}
		d.plan.addCondition(d.plan.blockAt(releasedNotice, releasedWhile(holds+d.notPushedYet())))
	}
}

// stuck tells whether the Application is held by finalizers that the hub's own Argo CD does not take off.
func (v *view) stuck() bool {
	return v.App.ReconcileSkipped() && (v.App.Cascades() || v.Presence == Present)
}

// wasOurs tells whether an Application without the label asks for a cluster, or shows something of Towline's.
func (v *view) wasOurs() bool {
	_, named := v.App.Annotations[apis.AnnotationCluster]
	return named || shows(v.App)
}

// remembered tells whether the Application counts as Towline's when its works have gone. One that is being deleted, without its
// label and without a cluster, does by what it shows.
func (v *view) remembered() bool {
	return v.App.DeletionTimestamp.IsZero() || v.App.Pulled() || v.wasOurs()
}

// leftBehind tells whether the Application shows that it was released when the last of its works has gone. The hub's own Argo CD may have
// taken it over: then nothing is Towline's to say.
func (v *view) leftBehind() bool {
	sent := has(v.App, releasing) || v.wasOurs() && reportedOn(v.App)
	return sent && v.App.ReconcileSkipped()
}

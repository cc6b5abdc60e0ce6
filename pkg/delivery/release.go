package delivery

import (
	"cmp"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// releasingSteps are the steps, in order, to release an Application on its cluster. After the steps, the work is
// deleted. The work stores all progress, so a release continues after a restart. A normal write of the work cancels
// the release.
var releasingSteps = []*Gate{
	releasePaused,
	enableFirst,
	withdrawFirst,
	{Name: "return of a request", Type: forbidden, step: returnRequest},
	{Name: "preparation", step: prepareRelease},
	dependenciesStay,
}

// Steps common to a release and to the hand-over to the hub's own Argo CD.
var (
	releasePaused    = &Gate{Name: "release paused", Type: paused, Reason: apis.ReasonPaused, step: waitForRelease}
	dependenciesStay = &Gate{Name: "dependencies", step: keepDependencies}
)

// Notices about a release under way, and about a finished release.
var (
	releaseNotice  = &Gate{Name: "release", Type: releasing, Reason: apis.ReasonReleasing}
	releasedNotice = &Gate{Name: "released", Type: releasing}
)

// releaseOf returns the exit of a work to be released: to nobody, or to the hub's own Argo CD.
func (v *view) releaseOf(w *workv1.ManifestWork) *exit {
	if v.handsOver(w) {
		return handOver
	}
	return release
}

// returnRequest blocks the release of a work with a request if the present Application may not be sent to the
// cluster. The Application must replace the request.
func returnRequest(v *view, s *subject) block {
	switch {
	case s.app == nil || s.untouched || work.Released(s.ManifestWork) || !work.CarriesRequest(s.ManifestWork):
		return done
	case !v.knows(FactReturn):
		return require(FactReturn)
	}
	return refused(v.Return[s.UID])
}

// prepareRelease waits until the agent has confirmed that the cluster keeps everything.
func prepareRelease(v *view, s *subject) block {
	w := s.ManifestWork
	if s.untouched || work.Released(w) && v.report(w).Applied() {
		return done
	}
	wait := blockf("the work agent of cluster %s has not released the Application", w.Namespace)
	if work.Released(w) {
		return wait
	}
	updated, err := work.Release(w, s.app)
	if err != nil {
		return unrendered(err)
	}
	return wait.changing(w, updated)
}

// keepDependencies waits for dependencies that would leave the cluster together with the work. The change of their
// works wakes the controller for the next decision.
func keepDependencies(v *view, s *subject) block {
	switch {
	case s.untouched:
		return done
	case !v.knows(FactDependencies):
		return require(FactDependencies)
	case v.Dependencies[s.UID]:
		return done
	}
	return blockf("cluster %s has not confirmed that the dependencies of the Application stay on the cluster", s.Namespace)
}

// releaseAll releases works. A blocked work does not prevent the others. releaseAll returns the block or the notice
// while works exist, and nil without works.
func (d *decision) releaseAll(ws works) (first *block) {
	if len(ws) == 0 {
		return nil
	}
	for _, w := range ws {
		first = cmp.Or(first, d.endWork(d.subject(w), d.releaseOf(w)).shown())
	}
	if first == nil {
		first = d.plan.blockAt(releaseNotice, d.waitsForRelease(ws))
	}
	if d.OwnUnwatched {
		first.Wait = first.Wait.and(Wait{After: poll})
	}
	return first
}

// release handles an Application that asks for its release.
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

// releasedWhile returns the notice about a released Application, with the condition for the release. The end of each
// work has an event of its own.
func releasedWhile(holds string) block {
	return blockf(releasedWords+"the workload stays on its cluster, and Towline does not manage the workload while %s", holds)
}

// releasedWords is the start of the message about a released Application.
const releasedWords = "released: "

// TellsReleased reports whether a ReleaseWarning is about a finished release.
func TellsReleased(message string) bool { return strings.HasPrefix(message, releasedWords) }

// endsRelease reports whether the condition is about a finished release. The hub's Application then shows no further
// changes of a cluster.
func (c Condition) endsRelease() bool { return c.Type == releasing && c.Reason == "" }

// disown handles an Application that has lost the pull label or has a false pull label. The works of the Application
// are released. If the Application is in deletion and no other controller would end the Application, disown ends it.
// Without the label, an Application is watched only during its deletion. Its conditions are written while watched
// works exist, and once more after their end. Towline recognizes a managed Application by its
// status conditions.
func (d *decision) disown() {
	going := !d.App.DeletionTimestamp.IsZero()
	switch ws := d.all(); {
	case going && d.stuck() && (d.wasOurs() || len(ws) > 0):
		d.endReleased()
	case len(ws) > 0:
		d.plan.addCondition(d.releaseAll(ws))
	case going && d.Presence == Present:
		// The finalizers belong to the hub's own Argo CD.
	case going && d.Own == nil && Named(d.App):
		d.require(FactOwn)
	case !going && d.showsRelease():
		holds := "the label " + apis.LabelPull + " is missing"
		if d.Presence == Present {
			holds = "the label " + apis.LabelPull + " is not \"true\""
		}
		d.plan.addCondition(d.plan.blockAt(releasedNotice, releasedWhile(holds+d.notPushedYet())))
	}
}

// stuck reports whether finalizers hold the Application, and the hub's own Argo CD does not remove the finalizers.
func (v *view) stuck() bool {
	return v.App.ReconcileSkipped() && (v.App.Cascades() || v.Presence == Present)
}

// wasOurs reports whether an Application without the label names a cluster, or shows a condition of Towline.
func (v *view) wasOurs() bool {
	_, named := v.App.Annotations[apis.AnnotationCluster]
	return named || shows(v.App)
}

// remembers reports whether the Application still counts as Towline's after the end of its works. For an Application
// in deletion, without a label and a cluster, the conditions are the proof.
func (v *view) remembers() bool {
	return v.App == nil || v.App.DeletionTimestamp.IsZero() || v.App.Pulled() || v.wasOurs()
}

// showsRelease reports whether the Application shows its release after the end of its last work. If the hub's own Argo
// CD has taken over the Application, Towline shows nothing.
func (v *view) showsRelease() bool {
	sent := has(v.App, releasing) || v.wasOurs() && reportedOn(v.App)
	return sent && v.App.ReconcileSkipped()
}

package delivery

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// removing are the steps, in order, to remove an Application from the cluster of a work. After the steps, the work is
// deleted. The finalizers of the cluster's Application then decide about the workload: see the step "finalizers". The
// notice of the whole removal covers all steps except the pause.
var removing = []*Gate{
	clusterPaused,
	enableFirst,
	withdrawFirst,
	{Name: "running operation", step: stopOperation},
	{Name: "finalizers", step: finalizers(false)},
	keepOthers,
}

// revoking are the steps of a removal by a revocation. The author cannot delay the removal, and no step waits for an
// operation. A failed apply on the cluster does not delay the removal either.
var revoking = []*Gate{
	enableFirst,
	{Name: "finalizers", step: finalizers(true)},
	keepOthers,
}

// dropping are the steps before the deletion of a work without a wait for its cluster's apply. Either another work has
// the Application on the cluster, or the cluster is not awaited.
var dropping = []*Gate{clusterPaused, keepOthers}

// exit is one way in which an Application leaves the cluster of a work: the steps, in order, before the deletion of the
// work, and the log entry and the event of the deletion. releases is true if the cluster keeps everything.
type exit struct {
	steps    []*Gate
	as       ending
	releases bool
}

// The exits. A replacement is the deletion of a work without a wait for its cluster's apply.
var (
	removal     = &exit{steps: removing, as: removed}
	replacement = &exit{steps: dropping, as: removed}
	release     = &exit{steps: releasingSteps, as: releasedThere, releases: true}
	handOver    = &exit{steps: handingOver, as: handedOver, releases: true}
)

// leaving returns the subject and the exit of a work with an Application to be removed from its cluster; no exit while
// the work stays. The Application may have ended on the hub, or be an earlier Application of the same name. Then the
// workload stays. A work with a request is released instead, because the content after the request is unknown. A user's
// decision on the work has priority: while Towline waits for the cluster, the user can still keep the Application.
func (v *view) leaving(w *workv1.ManifestWork) (*subject, *exit) {
	switch {
	case v.App == nil:
	case v.replaced(w):
		return v.subject(w), replacement
	case !v.earlier(w):
		return v.subject(w), removal
	}
	ended, rule := &subject{ManifestWork: w}, w.Annotations[apis.AnnotationOrphaned]
	switch {
	case rule == AfterRestoreHold:
		return ended, nil
	case work.Released(w), work.CarriesRequest(w), rule == AfterRestoreAdopt:
		return ended, release
	}
	return ended, removal
}

// endWork takes the next step of an exit, and deletes the work after the last step. endWork returns why the work is not
// deleted yet, and the plan has the wait. A work without an exit stays. The changes and the end of the work wake the controller for the next
// decision.
func (d *decision) endWork(s *subject, e *exit) *block {
	if e == nil || d.deletionRequested(s.ManifestWork) {
		return nil
	}
	s.untouched = deletableUnseen(s.ManifestWork, false)
	if e.releases {
		s.untouched = d.unseen(s.app, s.ManifestWork)
	}
	if b := d.advance(e.steps, s); b != nil {
		d.plan.addWait(b.Wait)
		return b
	}
	as := e.as
	switch {
	case e == removal && s.Spec.DeleteOption != nil && work.Released(s.ManifestWork) && !argocd.Destroys(cascade(s.app)):
		return d.endWork(s, release) // the request could not be replaced in another way
	case e.releases && s.app != nil && !d.remembered: // the condition is written first, and the write wakes the controller
		return nil
	case e.releases && s.untouched:
		as = nothingSent
	}
	d.plan.addStep(Step{Write: work.Deletion(s.ManifestWork), Log: as.log, Events: as.of(s)})
	d.going = append(d.going, s.UID)
	return nil
}

// deletableUnseen reports whether a work can be deleted without a preparation by its agent: the agent has seen neither
// the work nor an earlier work of the same name. With force, earlier works do not count.
func deletableUnseen(w *workv1.ManifestWork, force bool) bool {
	return !work.Seen(w) && (force || !work.Recreated(w))
}

// finalizers waits until the cluster's Application has the finalizers of the hub's Application. The work first
// delivers the finalizers. The step is done after the agent has applied the work. With force, a failed apply is
// enough. Without an Application on the hub, the workload stays, because a user has removed the finalizers from the
// hub's Application on purpose. A waiting work then stores that its Application is gone, so that a restart does not
// count the work as a loss. The changes of the work wake the controller for the next decision.
func finalizers(force bool) func(*view, *subject) block {
	return func(v *view, s *subject) block {
		w := s.ManifestWork
		if s.untouched {
			return done
		}
		if !force && s.app != nil && work.CarriesRequest(w) && !v.knows(FactReturn) {
			return require(FactReturn)
		}
		updated, changed, err := v.prepared(s, cascade(s.app), force)
		if err != nil {
			return unrendered(err)
		}
		if !changed && (force && v.tried(w) || v.report(w).FinalizersDropped(argocd.Destroys(cascade(s.app)))) {
			return done
		}
		if s.app == nil && w.Annotations[apis.AnnotationOrphaned] != AfterRestoreDelete {
			updated, changed = annotated(updated, apis.AnnotationOrphaned, AfterRestoreDelete), true
		}
		wait := blockf("the work agent of cluster %s has not removed the finalizers yet%s", w.Namespace, v.blockers(works{w}))
		if changed {
			return wait.changing(w, updated)
		}
		if s.app == nil {
			wait.events = v.tellOfBlocker(w)
		}
		return v.askAgain(w, wait)
	}
}

// keepOthers waits for works with side manifests. The end of the work would remove the
// other objects from the cluster: for example a namespace, with all its content. The agent's answer wakes the
// controller for the next decision.
var keepOthers = &Gate{Name: "side manifests", step: func(v *view, s *subject) block {
	if !work.Seen(s.ManifestWork) || v.report(s.ManifestWork).SideManifestsKept() {
		return done
	}
	wait := blockf("the work agent of cluster %s has not confirmed that the other objects of ManifestWork %s stay on the cluster", s.Namespace, s.Name)
	if updated, changed := work.KeepSideManifests(s.ManifestWork); changed {
		return wait.changing(s.ManifestWork, updated)
	}
	return wait
}}

// prepared returns a work whose deletion has the effect requested by the hub's Application, and whether the work had
// to change. The Application replaces a request in the work, because a request has no finalizers.
func (v *view) prepared(s *subject, finalizers []string, force bool) (updated *workv1.ManifestWork, changed bool, err error) {
	switch {
	case !work.CarriesRequest(s.ManifestWork):
		updated, changed = work.PrepareRemoval(s.ManifestWork, finalizers)
		return updated, changed, nil
	case force:
		return s.ManifestWork, false, nil // deleted as is
	}
	app := s.app
	if v.Return[s.UID] != nil {
		app = nil
	}
	updated, err = work.Withdrawn(s.ManifestWork, app, finalizers)
	return updated, true, err
}

// tried reports whether the agent has processed the work, or had nothing new to process.
func (v *view) tried(w *workv1.ManifestWork) bool {
	return w.Generation == 1 || work.CarriesRequest(w) || v.report(w).Outcome() != ""
}

// unreadLasts is the time after which an agent that cannot read a leaving Application is asked again. The second
// answer counts. The agent (v1.2.0) reports a failing API server and a missing CRD in the same way, and tries again
// after 1,000 s at the latest.
const unreadLasts = 20 * time.Minute

// askAgain extends a wait. If the agent of a leaving work could not read the Application for long enough, askAgain
// asks the agent again. Until then the wait has an end.
func (v *view) askAgain(w *workv1.ManifestWork, wait block) block {
	if !work.ReportsFinalizers(w) || !v.report(w).Unread(work.TakesWorkload(w)) || work.AskedAgain(w) {
		return wait
	}
	if !v.knows(FactReported) {
		return require(FactReported)
	}
	last, known := v.Reported[w.UID]
	if !known {
		last = v.Now
	}
	if remaining := unreadLasts - v.Now.Sub(last); remaining > 0 {
		wait.After = remaining
		return wait
	}
	if asking, err := work.AskAgain(w); err == nil {
		return wait.changing(w, asking)
	}
	return wait
}

// annotated returns a copy of the work with the annotation.
func annotated(w *workv1.ManifestWork, key, value string) *workv1.ManifestWork {
	out := w.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
	return out
}

// blocker returns why a leaving work cannot be deleted yet: the cluster cannot apply the final form of the
// Application, or users on the cluster hold the Application by finalizers. Empty for no known reason.
func blocker(report *work.Report) string {
	w := report.Work
	destroys, why := work.TakesWorkload(w), "the work agent could not apply the ManifestWork"
	if c := report.Condition(workv1.WorkApplied); c != nil && c.Message != "" {
		why = c.Message
	}
	switch outcome := report.Outcome(); {
	case outcome == "" || report.FinalizersDropped(destroys):
	case report.Unread(destroys):
		return fmt.Sprintf("cluster %s cannot report whether its Application still exists: %s. If the error lasts for %s, Towline treats the "+
			"Application as removed", w.Namespace, why, unreadLasts)
	case outcome == metav1.ConditionFalse:
		return "cluster " + w.Namespace + " refuses the change: " + why
	case work.UpdateModeOf(w) == work.ReadOnly:
		return "cluster " + w.Namespace + " has not reported yet whether its Application came from this hub"
	case report.Uncascaded():
		return fmt.Sprintf("a writer on cluster %s removes the finalizer %s, which Towline puts back: without the finalizer, the deployed "+
			"resources would stay on the cluster. The removal of the Application continues when the work agent has put the finalizer back, at most "+
			"six minutes after the writer stops",
			w.Namespace, apis.FinalizerResources)
	case !destroys:
		if remaining, known := report.RemainingFinalizers(); known && len(remaining) > 0 {
			id := work.Resource(w)
			return fmt.Sprintf("a writer on cluster %s gave the Application the finalizer %s, so the removal of the Application would delete the "+
				"deployed resources: remove the finalizer on the cluster, for example with "+
				`kubectl -n %s patch applications.argoproj.io %s --type merge -p '{"metadata":{"finalizers":null}}'`,
				w.Namespace, strings.Join(remaining, ", "), id.Namespace, id.Name)
		}
	}
	return ""
}

// blockers returns the obstacles of works, as words after a notice.
func (v *view) blockers(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if why := blocker(v.report(w)); why != "" && work.ReportsFinalizers(w) && !v.deletionRequested(w) {
			b.WriteString("; but " + why)
		}
	}
	return b.String()
}

// tellOfBlocker returns the event about a waiting work without an Application: its deletion would destroy a workload
// that is to stay.
func (v *view) tellOfBlocker(w *workv1.ManifestWork) []Event {
	why := blocker(v.report(w))
	if why == "" {
		return nil
	}
	return []Event{{
		On: w, Warning: true, Reason: apis.ReasonRemovalRefused, Action: "Delete",
		Note: fmt.Sprintf("the hub's Application is gone and the deployed resources should stay, but %.700s. Towline deletes this ManifestWork "+
			"when the cause is fixed, or when the Application is gone from the cluster. Do not delete this ManifestWork before: the cluster would "+
			"then delete the deployed resources", why),
	}}
}

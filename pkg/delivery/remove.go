package delivery

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// removing are the steps by which an Application goes from the cluster of a work, from first to last. Then the work is deleted. Whether
// the deployed resources go as well follows from the finalizers that the cluster's copy has at that moment: see the step
// "finalizers". The notice of the whole removal tells of all steps but the pause.
var removing = []*Gate{
	clusterPaused,
	enableToRemove,
	withdrawFirst,
	{Name: "running operation", step: stopOperation},
	{Name: "finalizers", step: finalizers(false)},
	keepOthers,
}

// revoking are the steps of a removal that neither the cluster nor the Application's author can hold up: nothing waits for an operation.
var revoking = []*Gate{
	enableToRevoke,
	{Name: "finalizers", step: finalizers(true)},
	keepOthers,
}

// dropping are the steps of a work that is deleted whatever its cluster has applied of it: another work has the Application there, or
// nobody waits for the cluster.
var dropping = []*Gate{clusterPaused, keepOthers}

// remove takes an Application off the cluster of a work. It returns why the work's deletion is not asked for yet; nil also where the
// notice of the whole tells of that.
func (d *decision) remove(s *subject) *block {
	if d.deletionRequested(s.ManifestWork) {
		return nil
	}
	if b := d.advance(removing, s); b != nil {
		d.plan.addWait(b.Wait)
		return b.shown()
	}
	if s.Spec.DeleteOption != nil && work.Released(s.ManifestWork) && !argocd.Destroys(cascade(s.app)) {
		return d.releaseWork(s) // its request could not be taken back in another way
	}
	d.delete(s, removed)
	return nil
}

// drop deletes a work, whatever its cluster has applied of it.
func (d *decision) drop(s *subject) *block {
	if d.deletionRequested(s.ManifestWork) {
		return nil
	}
	if b := d.advance(dropping, s); b != nil {
		return b
	}
	d.delete(s, removed)
	return nil
}

// firstOf is the first of two blocks, with the waits of both.
func firstOf(first, b *block) *block {
	switch {
	case b == nil:
		return first
	case first == nil:
		return b
	}
	first.Wait = first.Wait.and(b.Wait)
	return first
}

// deletableUnseen tells whether nothing is to be said to the agent of a work before it goes: it has not taken it up, nor an earlier
// one of its name.
func deletableUnseen(w *workv1.ManifestWork, force bool) bool {
	return !work.Seen(w) && (force || !work.MadeAnew(w))
}

// finalizers is for a work of which the cluster's copy does not have the finalizers yet that it is to go with: those of the hub's.
// The work brings them first, where it had others or none, and goes when the agent has applied that, or has tried where it is
// forced. The hub may have no Application any more: the person who took the finalizers off the hub's Application wanted the
// workload to stay. A work that has to wait then remembers that its Application is gone, so that a restart does not take it for
// lost. Its changes wake the decisions that go on.
func finalizers(force bool) func(*view, *subject) outcome {
	return func(v *view, s *subject) outcome {
		w := s.ManifestWork
		if deletableUnseen(w, force) {
			return done
		}
		if !force && s.app != nil && work.CarriesRequest(w) && !v.knows(NeedReturn) {
			return outcome{verdict: require(NeedReturn)}
		}
		updated, changed, err := v.prepared(s, cascade(s.app), force)
		if err != nil {
			return outcome{verdict: unsent(err)}
		}
		if !changed && (force && tried(w) || work.FinalizersDropped(w, argocd.Destroys(cascade(s.app)))) {
			return done
		}
		if s.app == nil && w.Annotations[apis.AnnotationOrphaned] != AfterRestoreDelete {
			updated, changed = annotated(updated, apis.AnnotationOrphaned, AfterRestoreDelete), true
		}
		wait := waitf("the work agent of cluster %s has not removed the finalizers yet%s", w.Namespace, v.blockers(works{w}))
		if changed {
			return wait.changing(w, updated)
		}
		if s.app == nil {
			wait.events = tellOfBlocker(w)
		}
		return v.askAgain(w, wait)
	}
}

// keepOthers is for a work that holds more than its Application, as older controllers made them, and with whose end that would go
// from the cluster: a namespace, with all that is in it. The agent's answer wakes the decision that goes on.
var keepOthers = &Gate{Name: "held beside", step: func(_ *view, s *subject) outcome {
	if !work.Seen(s.ManifestWork) || work.Bare(s.ManifestWork) {
		return done
	}
	wait := waitf("the work agent of cluster %s has not confirmed that the other objects of ManifestWork %s stay there", s.Namespace, s.Name)
	if updated, changed := work.Baring(s.ManifestWork); changed {
		return wait.changing(s.ManifestWork, updated)
	}
	return wait
}}

// prepared is a work changed so that its deletion comes to what the hub's Application asks for, and whether it had to be.
// A request that it carries is taken back, which says nothing of finalizers.
func (v *view) prepared(s *subject, finalizers []string, force bool) (updated *workv1.ManifestWork, changed bool, err error) {
	switch {
	case !work.CarriesRequest(s.ManifestWork):
		updated, changed = work.Removable(s.ManifestWork, finalizers)
		return updated, changed, nil
	case force:
		return s.ManifestWork, false, nil // it goes as it is
	}
	app := s.app
	if v.Return[s.UID] != nil {
		app = nil
	}
	updated, err = work.Withdrawn(s.ManifestWork, app, finalizers)
	return updated, true, err
}

// tried tells whether the agent has done with a work what it could, or was not to do anything new.
func tried(w *workv1.ManifestWork) bool {
	return w.Generation == 1 || work.CarriesRequest(w) || work.Outcome(w) != ""
}

// unreadLasts is how long an agent has to be unable to read an Application that is to go before it is asked once more, and
// that answer counts. It (v1.2.0) says the same where its API server fails and where there is no CRD, and tries again after
// 1,000 s at the latest.
const unreadLasts = 20 * time.Minute

// askAgain is a wait in which the agent of a work that is to go is asked once more, when it could not read the Application for long
// enough. Until then the wait has an end.
func (v *view) askAgain(w *workv1.ManifestWork, wait outcome) outcome {
	if !work.TellsLeft(w) || !work.Unread(w, takesAlong(w)) || work.AskedAgain(w) {
		return wait
	}
	if !v.knows(NeedReported) {
		return outcome{verdict: require(NeedReported)}
	}
	last, known := v.Reported[w.UID]
	if !known {
		last = v.Now
	}
	if left := unreadLasts - v.Now.Sub(last); left > 0 {
		wait.After = left
		return wait
	}
	if asking, err := work.AskAgain(w); err == nil {
		return wait.changing(w, asking)
	}
	return wait
}

// takesAlong tells whether a work gives its Application a finalizer that destroys what that deployed.
func takesAlong(w *workv1.ManifestWork) bool {
	held, ok := work.Carried(w)
	return ok && argocd.Destroys(held.Finalizers)
}

// unsent is shown where an Application cannot be put back into a work that is to go.
func unsent(err error) verdict {
	v := unrendered(err)
	v.Type, v.Reason = payloadInvalid.Type, cmp.Or(v.Reason, payloadInvalid.Reason)
	return v
}

// annotated is the work with that annotation.
func annotated(w *workv1.ManifestWork, key, value string) *workv1.ManifestWork {
	out := w.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
	return out
}

// blocker is why a work that was told what becomes of what its Application deployed cannot go yet: its cluster cannot apply
// that, or has the Application with finalizers of others. It is empty where none is known of.
func blocker(w *workv1.ManifestWork) string {
	destroys, why := takesAlong(w), "it could not apply the ManifestWork"
	if c := said(w, workv1.WorkApplied); c != nil && c.Message != "" {
		why = c.Message
	}
	switch outcome := work.Outcome(w); {
	case outcome == "" || work.FinalizersDropped(w, destroys):
	case work.Unread(w, destroys):
		return fmt.Sprintf("cluster %s cannot say whether the Application is still there: %s. If this lasts for %s, "+
			"Towline treats the Application as removed", w.Namespace, why, unreadLasts)
	case outcome == metav1.ConditionFalse:
		return "cluster " + w.Namespace + " refuses that: " + why
	case work.UpdateModeOf(w) == work.ReadOnly:
		return "cluster " + w.Namespace + " has not said yet whether the Application there came from this hub"
	case work.Uncascaded(w):
		return fmt.Sprintf("somebody on cluster %s removes the finalizer %s, which Towline puts back: without that finalizer, what the Application "+
			"deployed would stay there. Towline goes on when the work agent has put the finalizer back, at most six minutes after the removals end",
			w.Namespace, apis.FinalizerResources)
	case !destroys:
		if left, known := work.Left(w); known && len(left) > 0 {
			return heldByOthers(w, left)
		}
	}
	return ""
}

// heldByOthers says which finalizers the cluster's Application has by others, and how to take them off.
func heldByOthers(w *workv1.ManifestWork, left []string) string {
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	return fmt.Sprintf("somebody on cluster %s gave the Application the finalizer %s, with which its removal would delete everything that it deployed: "+
		`remove the finalizer there, for example with kubectl -n %s patch applications.argoproj.io %s --type merge -p '{"metadata":{"finalizers":null}}'`,
		w.Namespace, strings.Join(left, ", "), id.Namespace, id.Name)
}

// blockers are those of works, to be put behind a notice.
func (v *view) blockers(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if why := blocker(w); why != "" && work.TellsLeft(w) && !v.deletionRequested(w) {
			b.WriteString("; but " + why)
		}
	}
	return b.String()
}

// tellOfBlocker says of a work whose Application is gone why it waits: its deletion would destroy what is to stay.
func tellOfBlocker(w *workv1.ManifestWork) []Event {
	why := blocker(w)
	if why == "" {
		return nil
	}
	return []Event{{
		On: w, Warning: true, Reason: apis.ReasonRemovalRefused, Action: "Delete",
		Note: fmt.Sprintf("the hub Application is gone and what it deployed should stay, but %.700s. Towline deletes this ManifestWork when "+
			"that is solved, or when "+
			"the Application is gone from the cluster. Do not delete it before: the cluster would then delete what was deployed", why),
	}}
}

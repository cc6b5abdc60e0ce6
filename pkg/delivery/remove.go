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

// remove takes an Application off the cluster of a work. What becomes there of what the Application deployed follows from the
// finalizers that the cluster's copy has at that moment: see askFinalizers. It returns why the work's deletion is not asked for
// yet; nil also where the notice of the whole tells of that.
func (d *decision) remove(w *workv1.ManifestWork) *hold {
	if d.leaving(w) {
		return nil
	}
	if h := d.held(Remove, w); h != nil {
		d.wait(h.Wait)
		return h.shown()
	}
	if w.Spec.DeleteOption != nil && work.Released(w) && !argocd.Destroys(cascade(d.App)) {
		return d.leave(w) // its request could not be taken back in another way
	}
	d.delete(w, removed)
	return nil
}

// shown is a hold that is shown by itself; nil for one of which the notice of the whole tells, and for none.
func (h *hold) shown() *hold {
	if h == nil || h.Type == "" {
		return nil
	}
	return h
}

// firstOf is the first of two holds. The other is waited for as well.
func (d *decision) firstOf(first, h *hold) *hold {
	switch {
	case h == nil:
		return first
	case first == nil:
		return h
	}
	d.wait(h.Wait)
	return first
}

// drop deletes a work, whatever its cluster has applied of it.
func (d *decision) drop(w *workv1.ManifestWork) *hold {
	if d.leaving(w) {
		return nil
	}
	if h := d.held(Drop, w); h != nil {
		return h
	}
	d.delete(w, removed)
	return nil
}

// goesUnseen tells whether nothing is to be said to the agent of a work before it goes: it has not taken it up, nor an earlier
// one of its name.
func goesUnseen(w *workv1.ManifestWork, force bool) bool {
	return !work.Seen(w) && (force || !work.MadeAnew(w))
}

// askFinalizers is for a work of which the cluster's copy does not have the finalizers yet that it is to go with: those of the
// hub's. The work brings them first, where it had others or none, and goes when the agent has applied that. The hub may have
// no Application any more: whoever took its finalizers off there wanted what it deployed to stay. A work that has to wait then
// remembers that its Application is gone, so that a restart does not take it for lost. Its changes wake the decisions that go on.
func askFinalizers(d *decision, q question) answer {
	w, force := q.work, q.intent == Revoke
	if goesUnseen(w, force) {
		return open
	}
	updated, changed, refusal := d.prepared(w, force)
	if d.plan.Need != 0 || refusal.Words != "" {
		return refusal
	}
	if !changed && (force && tried(w) || work.FinalizersDropped(w, argocd.Destroys(cascade(d.App)))) {
		return open
	}
	if d.App == nil && w.Annotations[apis.AnnotationOrphaned] != AfterRestoreDelete {
		updated, changed = annotated(updated, apis.AnnotationOrphaned, AfterRestoreDelete), true
	}
	a := because("the work agent of cluster %s has not removed the finalizers yet%s", w.Namespace, d.blockers(works{w}))
	if changed {
		d.update(w, updated)
		return a
	}
	if d.App == nil {
		d.tellOfBlocker(w)
	}
	a.After = d.askAgain(w)
	return a
}

// askBeside is for a work that holds more than its Application, as older controllers made them, and with whose end that would go
// from the cluster: a namespace, with all that is in it. The agent's answer wakes the decision that goes on.
func askBeside(d *decision, q question) answer {
	w := q.work
	if !work.Seen(w) || work.Bare(w) {
		return open
	}
	if updated, changed := work.Baring(w); changed {
		d.update(w, updated)
	}
	return because("the work agent of cluster %s has not confirmed that the other objects of ManifestWork %s stay there",
		w.Namespace, w.Name)
}

// prepared is a work changed so that its deletion comes to what the hub's Application asks for, and whether it had to be.
// A request that it carries is taken back, which says nothing of finalizers.
func (d *decision) prepared(w *workv1.ManifestWork, force bool) (*workv1.ManifestWork, bool, answer) {
	finalizers := cascade(d.App)
	if !work.CarriesRequest(w) {
		updated, changed := work.Removable(w, finalizers)
		return updated, changed, open
	}
	if force || d.App != nil && d.lacks(NeedReturn) {
		return w, false, open // it goes as it is
	}
	app := d.App
	if d.Return[w.UID] != nil {
		app = nil
	}
	updated, err := work.Withdrawn(w, app, finalizers)
	if err != nil {
		return w, false, unsent(err)
	}
	return updated, true, open
}

// tried tells whether the agent has done with a work what it could, or was not to do anything new.
func tried(w *workv1.ManifestWork) bool {
	return w.Generation == 1 || work.CarriesRequest(w) || work.Outcome(w) != ""
}

// unreadLasts is how long an agent has to be unable to read an Application that is to go before it is asked once more, and
// that answer counts. It (v1.2.0) says the same where its API server fails and where there is no CRD, and tries again after
// 1,000 s at the latest.
const unreadLasts = 20 * time.Minute

// askAgain asks the agent of a work that is to go once more, when it could not read the Application for long enough. It
// returns how long to wait until then; zero where there is nothing to ask.
func (d *decision) askAgain(w *workv1.ManifestWork) time.Duration {
	if !work.TellsLeft(w) || !work.Unread(w, takesAlong(w)) || work.AskedAgain(w) || d.lacks(NeedReported) {
		return 0
	}
	last, known := d.Reported[w.UID]
	if !known {
		last = d.Now
	}
	if left := unreadLasts - d.Now.Sub(last); left > 0 {
		return left
	}
	if asking, err := work.AskAgain(w); err == nil {
		d.update(w, asking)
	}
	return 0
}

// takesAlong tells whether a work gives its Application a finalizer that destroys what that deployed.
func takesAlong(w *workv1.ManifestWork) bool {
	held, ok := work.Carried(w)
	return ok && argocd.Destroys(held.Finalizers)
}

// unsent is shown where an Application cannot be put back into a work that is to go.
func unsent(err error) answer {
	a := unrendered(err)
	h := holdOf(Gates.Named("payload"), a)
	return answer{Words: h.Message, Type: h.Type, Reason: h.Reason}
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
	destroys := takesAlong(w)
	switch outcome := work.Outcome(w); {
	case outcome == "" || work.FinalizersDropped(w, destroys):
	case work.Unread(w, destroys):
		return fmt.Sprintf("cluster %s cannot say whether the Application is still there: %s. If this lasts for %s, "+
			"Towline treats the Application as removed", w.Namespace, whyNotApplied(w), unreadLasts)
	case outcome == metav1.ConditionFalse:
		return "cluster " + w.Namespace + " refuses that: " + whyNotApplied(w)
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

// whyNotApplied is the cluster's words on a work that it could not apply.
func whyNotApplied(w *workv1.ManifestWork) string {
	if c := said(w, workv1.WorkApplied); c != nil && c.Message != "" {
		return c.Message
	}
	return "it could not apply the ManifestWork"
}

// blockers are those of works, to be put behind a notice.
func (d *decision) blockers(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if why := blocker(w); why != "" && work.TellsLeft(w) && !d.leaving(w) {
			b.WriteString("; but " + why)
		}
	}
	return b.String()
}

// tellOfBlocker says of a work whose Application is gone why it waits: its deletion would destroy what is to stay.
func (d *decision) tellOfBlocker(w *workv1.ManifestWork) {
	why := blocker(w)
	if why == "" {
		return
	}
	d.plan.Events = append(d.plan.Events, Event{
		On: w, Warning: true, Reason: apis.ReasonRemovalRefused, Action: "Delete",
		Note: fmt.Sprintf("the hub Application is gone and what it deployed should stay, but %.700s. Towline deletes this ManifestWork when "+
			"that is solved, or when "+
			"the Application is gone from the cluster. Do not delete it before: the cluster would then delete what was deployed", why),
	})
}

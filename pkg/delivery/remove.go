package delivery

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// remove takes an Application off the cluster of a work, and tells whether the work's deletion has been asked for. What
// becomes there of what the Application deployed follows from the finalizers that the cluster's copy has at that moment: see
// askFinalizers. The hold is nil where the work waits for something that the notice of the whole tells of.
func (d *decision) remove(w *workv1.ManifestWork, as Intent) (asked bool, h *hold) {
	if d.leaving(w) {
		return true, nil
	}
	if h := d.held(as, w); h != nil {
		return false, h.shown()
	}
	d.delete(w, removed)
	return true, nil
}

// shown is a hold that is shown by itself; nil for one of which the notice of the whole tells, and for none.
func (h *hold) shown() *hold {
	if h == nil || h.Type == "" {
		return nil
	}
	return h
}

// removeAll removes several works. One that cannot go on keeps no other. It returns what is to be shown of the first of those.
func (d *decision) removeAll(ws works) (first *hold) {
	for _, w := range ws {
		_, h := d.remove(w, Remove)
		first = d.firstOf(first, h)
	}
	return first
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

// askFinalizers is for a work of which the cluster's copy does not have the finalizers yet that it is to go with: those of the
// hub's. The work brings them first, where it had others or none, and goes when the agent has applied that. The hub may have
// no Application any more: whoever took its finalizers off there wanted what it deployed to stay. A work that has to wait then
// remembers that its Application is gone, so that a restart does not take it for lost. Its changes wake the decisions that go on.
func askFinalizers(d *decision, q question) answer {
	w := q.work
	if !brought(w) {
		return open
	}
	finalizers := cascade(d.App)
	force := q.intent == Revoke || argocd.Destroys(finalizers)
	current, refusal := d.withdrawn(w, force)
	if current == nil {
		return refusal
	}
	updated, changed := work.Removable(current, finalizers)
	if !changed && dropped(w, force) {
		return open
	}
	if d.App == nil && w.Annotations[apis.AnnotationOrphaned] != AfterRestoreDelete {
		updated, changed = annotated(updated, apis.AnnotationOrphaned, AfterRestoreDelete), true
	}
	switch {
	case changed:
		d.update(w, updated)
	case d.App == nil:
		d.tellOfBlocker(w)
	}
	return because("the work agent of cluster %s has not taken the finalizers over%s", w.Namespace, d.blockers(works{w}))
}

// withdrawn is a work with its Application in the place of a request that it carries, which says nothing of finalizers. It
// is the work itself where that need not be, or the Application may not be sent there any more: then it goes as it is. It is nil
// where that cannot be said.
func (d *decision) withdrawn(w *workv1.ManifestWork, force bool) (*workv1.ManifestWork, answer) {
	if force || d.App == nil || !work.CarriesRequest(w) {
		return w, open
	}
	if d.lacks(NeedReturn) {
		return nil, open
	}
	if d.Return[w.UID] != nil {
		return w, open
	}
	out := w.DeepCopy()
	if err := work.PutBack(out, d.App); err != nil {
		return nil, unsent(err)
	}
	return out, open
}

// unsent is shown where an Application cannot be put back into a work that is to go.
func unsent(err error) answer {
	a := unrendered(err)
	h := gateOf("payload").hold(a)
	return answer{words: h.Message, kind: h.Type, reason: h.Reason}
}

// dropped tells whether the cluster's Application has the finalizers that the work says, and none of others that would
// destroy what is to stay. A work that has never said anything else need not wait for that, nor one that carries a request,
// nor one whose Application is not there. force tells not to ask for more than that the agent has tried: what the
// Application deployed is to go, or it is to go whatever becomes of that.
func dropped(w *workv1.ManifestWork, force bool) bool {
	if w.Generation == 1 || work.CarriesRequest(w) {
		return true
	}
	switch work.Outcome(w) {
	case metav1.ConditionTrue:
		left, known := work.Left(w)
		return force || known && len(left) == 0
	case metav1.ConditionFalse:
		return force || absent(w)
	}
	return false
}

// annotated is the work with that annotation.
func annotated(w *workv1.ManifestWork, key, value string) *workv1.ManifestWork {
	out := w.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value)
	return out
}

// blocker is why the end of a work would destroy what its Application deployed though the work says that it is to stay: its
// cluster cannot apply that, or the Application has finalizers of others there. It is empty where none is known of.
func blocker(w *workv1.ManifestWork) string {
	switch work.Outcome(w) {
	case metav1.ConditionFalse:
		return "cluster " + w.Namespace + " refuses that: " + whyNotApplied(w)
	case metav1.ConditionTrue:
		if left, known := work.Left(w); known && len(left) > 0 {
			return heldByOthers(w, left)
		}
	}
	return ""
}

// heldByOthers says which finalizers the cluster's Application has by others, and how to take them off.
func heldByOthers(w *workv1.ManifestWork, left []string) string {
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	return fmt.Sprintf("others on cluster %s gave the Application there the finalizer %s, by which its end would destroy what it deployed: "+
		`take that off there, as by kubectl -n %s patch applications.argoproj.io %s --type merge -p '{"metadata":{"finalizers":null}}'`,
		w.Namespace, strings.Join(left, ", "), id.Namespace, id.Name)
}

// whyNotApplied is the cluster's words on a work that it could not apply.
func whyNotApplied(w *workv1.ManifestWork) string {
	if c := said(w, workv1.WorkApplied); c != nil && c.Message != "" {
		return c.Message
	}
	return "it could not apply the ManifestWork"
}

// blockers are those of works that have been told to leave what their Application deployed, to be put behind a notice.
func (d *decision) blockers(ws works) string {
	var b strings.Builder
	for _, w := range ws {
		if why := blocker(w); why != "" && work.TellsLeft(w) && !d.leaving(w) && !absent(w) {
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
		Note: fmt.Sprintf("the hub's Application is gone, and what it deployed is to stay, but %.700s. The work goes when that is mended, or the "+
			"Application is gone there. Deleted before, it takes along what was deployed", why),
	})
}

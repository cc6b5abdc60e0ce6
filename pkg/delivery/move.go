package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// oldFirst reports whether the old cluster must remove an Application before the delivery to the new cluster.
func (o MoveOptions) oldFirst(app *argocd.Application) bool {
	return cmp.Or(app.Annotations[apis.AnnotationMoveOrder], o.Order) == apis.MoveOldFirst
}

// keptFor returns how much longer the old cluster keeps an Application after the apply on the new cluster; zero for a
// healthy Application. The timeout counts from the creation of the new work.
func (v *view) keptFor() time.Duration {
	seen := v.observed(v.Own, v.App)
	if seen.Status.Health.Status == "Healthy" && v.report(v.Own).Found() == metav1.ConditionTrue { // a missing Application keeps its last health
		return 0
	}
	return max(0, v.Move.Timeout-v.Now.Sub(v.Own.CreationTimestamp.Time))
}

// arriving are the steps, in order, before the delivery of an Application to a new cluster. The two steps for
// old-first are the last. leaveOldCluster comes after the steps: an Application leaves the old cluster only if the
// new cluster can take the Application.
var arriving = []*Gate{
	enableToSend,
	{Name: "predecessor", Type: moving, Reason: apis.ReasonMoving, step: waitForPredecessor},
	{Name: "rehearsal", Type: problem, Backoff: true, step: rehearse},
	{Name: "new cluster", Type: moving, Reason: apis.ReasonMoving, step: waitForNewCluster},
}

// Notices about a move: before the delivery with old-first, and after the delivery with new-first.
var (
	oldClusterWaits = &Gate{Name: "old cluster", Type: moving, Reason: apis.ReasonMoving}
	moveNotice      = &Gate{Name: "move", Type: moving, Reason: apis.ReasonMoving}
)

// movesOldFirst returns the works on old clusters, for an Application without a work and with the order old-first.
// Works on the target cluster are not included: their Application moves to the new work, and must not be without an
// owner.
func (v *view) movesOldFirst() works {
	if v.Own != nil || !v.Move.oldFirst(v.App) {
		return nil
	}
	return v.elsewhere()
}

// waitForPredecessor waits while the cluster removes an earlier Application of the same name whose work was already
// leaving. The agent (v1.2.0) looks for other owners before a deletion, and not again during the deletion. Objects
// applied by a new work in between would disappear, until the agent looks again minutes later. The end of the old
// work wakes the controller for the next decision.
func waitForPredecessor(v *view, _ *subject) block {
	if v.Own != nil {
		return done
	}
	for _, w := range v.Others {
		switch {
		case w.Namespace != v.App.Cluster():
		case !v.deletionRequested(w) && !v.knows(FactOthers): // the deletion may have been requested a moment ago
			return require(FactOthers)
		case v.deletionRequested(w) && work.Seen(w):
			return blockf("the Application is sent to cluster %s after the cluster has removed the deleted Application of the same name (ManifestWork %s)",
				w.Namespace, w.Name)
		}
	}
	return done
}

// Rehearsal returns the work for the dry run before the removal from an old cluster.
func Rehearsal(f *Facts) (*workv1.ManifestWork, error) {
	desired, err := work.Render(f.App, work.Requests{})
	if err != nil {
		return nil, err
	}
	work.ExecuteAs(desired, f.Executor)
	return desired, nil
}

// rehearse blocks a move if the new cluster cannot have a work of the Application. Otherwise the Application would
// run nowhere.
func rehearse(v *view, _ *subject) block {
	if len(v.movesOldFirst()) == 0 {
		return done
	}
	if _, err := Rehearsal(v.Facts); err != nil {
		return unrendered(err)
	}
	if !v.knows(FactRehearsal) {
		return require(FactRehearsal)
	}
	return rejected(v.Rehearsed)
}

// rejected returns the block of an API server's refusal of a work.
func rejected(r *Rejection) block {
	switch {
	case r == nil:
		return pass
	case r.Namespace:
		return blockFor(apis.ReasonClusterNamespaceMissing,
			fmt.Sprintf("ManifestWork %s: the cluster's namespace on the hub is missing or being deleted: %s", r.Key, r.Message))
	}
	return blockFor(apis.ReasonWorkRejected, fmt.Sprintf("the hub refused ManifestWork %s: %s", r.Key, r.Message))
}

// waitForNewCluster keeps an Application on its old cluster while the new cluster is unreachable. Without an old
// cluster to keep the Application, the step is done. The return of the new cluster wakes the controller for the next
// decision.
func waitForNewCluster(v *view, _ *subject) block {
	away, kept := v.target().Unreachable, v.staying(v.movesOldFirst())
	if away == "" || len(kept) == 0 {
		return done
	}
	return blockf("%s; %s. To change the Application on the old cluster, set the annotation %s back to the old cluster; to send the Application "+
		"anyway, set the annotation %s to %s", v.moving(kept, "%s keeps the Application unchanged until the new cluster is available"),
		strings.TrimSuffix(away, "."), apis.AnnotationCluster, apis.AnnotationMoveOrder, apis.MoveNewFirst)
}

// leaveOldCluster first removes an Application from its old cluster, with the steps of a removal.
func (d *decision) leaveOldCluster() *block {
	old := d.movesOldFirst()
	switch {
	case len(old) == 0:
		return nil
	case d.withdrawSent(old): // the write wakes the controller for the next decision
		return d.plan.blockAt(oldClusterWaits, blockf("%s", d.moving(old, "%s still has the Application")))
	}
	if b := d.removeFormer(old, 0); b != nil {
		return b
	}
	return d.moves(oldClusterWaits, d.moving(old, "the Application is sent after %s has removed its copy")+d.running(old))
}

// moving returns the message about an Application that other clusters still have; empty for no others. format has a
// placeholder for the names of the clusters.
func (v *view) moving(others works, format string) string {
	if len(others) == 0 {
		return ""
	}
	var names []string
	for _, w := range others {
		names = append(names, "cluster "+w.Namespace)
	}
	return fmt.Sprintf("moving to cluster %s: "+format, v.App.Cluster(), strings.Join(names, ", ")) + v.blockers(others)
}

// moves returns the block with a notice of a move, and with the abandoned copies; nil for none. The cache does not show
// the deletion of an unlabelled work.
func (d *decision) moves(notice *Gate, message string) *block {
	kept := only(d.Others, d.abandoned)
	switch {
	case len(kept) == 0 && message == "":
		return nil
	case len(kept) > 0 && message != "":
		message += "; "
	}
	b := blockFor("", message+abandonedCopies(kept))
	if slices.ContainsFunc(kept, func(w *workv1.ManifestWork) bool { return w.Labels[apis.LabelPull] == "" }) {
		b.After = slowRecheck
	}
	return d.plan.blockAt(notice, b)
}

// cleanUpFormerWorks deletes the former works of the Application after the own work has replaced them. On the same
// cluster, the own work must be applied first, so that the Application gets the new owner before it loses the old
// owner. On other clusters, the Application must be healthy at its new place, or the timeout must be over. changed is
// true if the agent must first apply the own work again.
func (d *decision) cleanUpFormerWorks(changed bool) *block {
	kept := func(w *workv1.ManifestWork) bool { return !d.abandoned(w) }
	others, former := only(d.elsewhere(), kept), only(d.Others, kept)
	switch {
	case len(former) == 0:
		return d.moves(moveNotice, "")
	case changed || !d.report(d.Own).Applied():
		return d.moves(moveNotice, d.moving(others, "%s keeps the Application until the new cluster has applied its copy"))
	}
	remaining := d.keptFor()
	d.plan.addWait(Wait{After: remaining})
	first := d.removeFormer(former, remaining)
	switch {
	case first != nil:
		return first
	case remaining > 0:
		return d.moves(moveNotice, d.moving(others, "%s keeps the Application until the new cluster's copy is healthy, or for "+d.Move.Timeout.String()))
	}
	return d.moves(moveNotice, d.moving(others, "waiting for %s to remove the Application")+d.running(others))
}

// removeFormer removes an Application from its former places, on other clusters after the remaining time. The Application
// stays at its present place, and a replaced work ends without a removal: see dropReplaced. A blocked work does not
// prevent the other removals. removeFormer returns the first block.
func (d *decision) removeFormer(ws works, remaining time.Duration) (first *block) {
	for _, w := range ws {
		if isHere(w, d.App) || d.replaced(w) || d.abandoned(w) || remaining > 0 && w.Namespace != d.App.Cluster() {
			continue
		}
		first = cmp.Or(first, d.endWork(d.leaving(w)).shown())
	}
	return first
}

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
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// oldFirst tells whether an Application must be off its old cluster before it is sent to the new one.
func (o MoveOptions) oldFirst(app *argocd.Application) bool {
	return cmp.Or(app.Annotations[apis.AnnotationMoveOrder], o.Order) == apis.MoveOldFirst
}

// left is how long the old cluster keeps an Application that has been applied on the new one.
func (o MoveOptions) left(app *argocd.Application, current *workv1.ManifestWork, now time.Time) time.Duration {
	seen := feedback.Parse(&current.Status, work.Identifier(app))
	if seen.Status.Health.Status == "Healthy" && found(current) == metav1.ConditionTrue { // or it was, before it was lost
		return 0
	}
	return max(0, o.Timeout-now.Sub(current.CreationTimestamp.Time))
}

// arriving are the steps before an Application is sent to another cluster than before, from first to last. Those of old-first follow the
// first two, and leaveOldCluster follows them: nothing goes from the old cluster that the new one cannot take.
var arriving = []*Gate{
	enableToSend,
	{Name: "predecessor", Type: moving, Reason: apis.ReasonMoving, step: waitForPredecessor},
	{Name: "rehearsal", Type: problem, Ends: gate.ByBackoff, step: rehearse},
	{Name: "new cluster", Type: moving, Reason: apis.ReasonMoving, step: waitForNewCluster},
}

// The notices of a move: of old-first before the Application is sent, and of new-first after that.
var (
	oldClusterWaits = &Gate{Name: "old cluster", Type: moving, Reason: apis.ReasonMoving, Quiet: true}
	moveNotice      = &Gate{Name: "move", Type: moving, Reason: apis.ReasonMoving, Quiet: true}
)

// movesOldFirst are the works of the old clusters of an Application that has no work yet and must not run twice. What the
// target's cluster itself has is the new one's too, and must not be without an owner.
func (v *view) movesOldFirst() works {
	if v.Own != nil || !v.Move.oldFirst(v.App) {
		return nil
	}
	return v.elsewhere()
}

// waitForPredecessor is for an Application while the cluster removes an earlier one of its name, whose work was told to go before
// this one was there. The agent (v1.2.0) looks for other owners before it deletes, and not once more when it does: what
// another work has applied in between would be gone, until the agent looks again minutes later. The work's end wakes the
// decision that goes on.
func waitForPredecessor(v *view, _ *subject) outcome {
	if v.Own != nil {
		return done
	}
	for _, w := range v.Others {
		switch {
		case w.Namespace != v.App.Cluster():
		case !v.deletionRequested(w) && !v.knows(NeedOthers): // its deletion may have been asked for a moment ago
			return outcome{verdict: require(NeedOthers)}
		case v.deletionRequested(w) && work.Seen(w):
			return waitf("it is sent to cluster %s after that has removed the deleted Application of the same name (ManifestWork %s)",
				w.Namespace, w.Name)
		}
	}
	return done
}

// Rehearsal is the work that the API server is asked about before an old cluster is to remove the Application.
func Rehearsal(f *Facts) (*workv1.ManifestWork, error) {
	desired, err := work.Render(f.App, work.Requests{})
	if err != nil {
		return nil, err
	}
	work.ExecuteAs(desired, f.Executor)
	return desired, nil
}

// rehearse is for an Application that cannot have a work on its new cluster: it would run nowhere.
func rehearse(v *view, _ *subject) outcome {
	if len(v.movesOldFirst()) == 0 {
		return done
	}
	if _, err := Rehearsal(v.Facts); err != nil {
		problem := unrendered(err)
		problem.Reason = cmp.Or(problem.Reason, apis.ReasonPayloadTooLarge)
		return outcome{verdict: problem}
	}
	if !v.knows(NeedRehearsal) {
		return outcome{verdict: require(NeedRehearsal)}
	}
	return outcome{verdict: rejected(v.Rehearsed)}
}

// rejected is an API server's refusal of a work.
func rejected(r *Rejection) verdict {
	switch {
	case r == nil:
		return pass
	case r.Namespace:
		return verdict{Reason: apis.ReasonClusterNamespaceMissing,
			Words: fmt.Sprintf("ManifestWork %s: the cluster's namespace on the hub is missing or being deleted: %s", r.Key, r.Message)}
	}
	return verdict{Reason: apis.ReasonWorkRejected, Words: fmt.Sprintf("the hub refused ManifestWork %s: %s", r.Key, r.Message)}
}

// waitForNewCluster is for an Application that stays where it is because the cluster that it is to go to cannot take it. It is done
// where no old cluster can keep it any more. The cluster's return wakes the decision that goes on.
func waitForNewCluster(v *view, _ *subject) outcome {
	away, kept := v.target().Unreachable, v.staying(v.movesOldFirst())
	if away == "" || len(kept) == 0 {
		return done
	}
	return waitf("%s; %s. To change it where it is, set the annotation %s back to its old cluster; to send it anyway, "+
		"set the annotation %s to %s", v.moving(kept, "%s keeps it unchanged until that cluster can take it"),
		strings.TrimSuffix(away, "."), apis.AnnotationCluster, apis.AnnotationMoveOrder, apis.MoveNewFirst)
}

// leaveOldCluster is for an Application that its old cluster has to remove first. It takes the steps of a removal there.
func (d *decision) leaveOldCluster() *block {
	old := d.movesOldFirst()
	if len(old) == 0 {
		return nil
	}
	if d.withdrawSent(old) { // its write wakes the decision that goes on
		return d.plan.blockAt(oldClusterWaits, blockf("%s", d.moving(old, "%s keeps it until then")))
	}
	if b := d.removeFormer(old, 0); b != nil {
		return b
	}
	words := d.moving(old, "it is sent there when %s has removed it") + d.running(old)
	if kept := d.keptByOlder(); kept != "" {
		words += "; " + kept
	}
	return d.plan.blockAt(oldClusterWaits, verdict{Words: words, After: d.keptAgain()})
}

// moving is what to tell of an Application that other clusters have as well; empty where none has. format has a place for
// their names.
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

// moves is the block of that notice, and of what an older controller left elsewhere; nil for none.
func (d *decision) moves(words string) *block {
	switch kept := d.keptByOlder(); {
	case words == "":
		words = kept
	case kept != "":
		words += "; " + kept
	}
	if words == "" {
		return nil
	}
	return d.plan.blockAt(moveNotice, verdict{Words: words, After: d.keptAgain()})
}

// leftByOlder tells whether a work is on another cluster than the Application names, as an older controller left it when the
// Application moved. That never deleted such works, and whoever moved the Application may count on what runs there since.
func (v *view) leftByOlder(w *workv1.ManifestWork) bool {
	return w.Namespace != v.App.Cluster() && work.ByOlder(w) && !v.deletionRequested(w)
}

// keptByOlder tells of those works, and of what a person can do; empty where there are none.
func (v *view) keptByOlder() string {
	var names, clusters []string
	for _, w := range only(v.Others, v.leftByOlder) {
		names, clusters = append(names, w.Namespace+"/"+w.Name), append(clusters, "cluster "+w.Namespace)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has a copy from an older controller, and keeps it. To remove this copy and what it deployed, delete ManifestWork %s",
		strings.Join(clusters, ", "), strings.Join(names, ", "))
}

// keptAgain is when to look whether somebody has deleted such a work, of those that are not watched; zero for never.
func (v *view) keptAgain() time.Duration {
	unwatched := func(w *workv1.ManifestWork) bool { return v.leftByOlder(w) && w.Labels[apis.LabelPull] == "" }
	if slices.ContainsFunc(v.Others, unwatched) {
		return slowRecheck
	}
	return 0
}

// cleanUpFormerWorks deletes the works that carried this Application before, once current has taken their place: on the same cluster when
// it has been applied, so that the Application there has a new owner before it loses the old one; on another one when it is
// healthy where it is now, or has not become so in time. changed is set when current is to be written first.
func (d *decision) cleanUpFormerWorks(current *workv1.ManifestWork, changed bool) *block {
	kept := func(w *workv1.ManifestWork) bool { return !d.leftByOlder(w) }
	others, former := only(d.elsewhere(), kept), only(d.Others, kept)
	switch {
	case len(former) == 0:
		return d.moves("")
	case changed || !applied(current):
		return d.moves(d.moving(others, "%s keeps it until then"))
	}
	left := d.Move.left(d.App, current, d.Now)
	d.plan.addWait(Wait{After: left})
	first := d.removeFormer(former, left)
	switch {
	case first != nil:
		return first
	case left > 0:
		return d.moves(d.moving(others, "%s keeps it until it is healthy there, or for "+d.Move.Timeout.String()))
	}
	words := d.moving(others, "waiting for %s to remove it")
	if words != "" {
		words += d.running(others)
	}
	return d.moves(words)
}

// removeFormer takes an Application off where works had it before, after the time that is left for that on other clusters.
// Where it is now, it is not to change: it is the current work's too. One that cannot go on keeps no other. It returns what is
// to be shown of the first of those.
func (d *decision) removeFormer(ws works, left time.Duration) (first *block) {
	for _, w := range ws {
		var b *block
		switch {
		case isHere(w, d.App):
			b = d.drop(d.subject(w))
		case d.leftByOlder(w):
		case left > 0 && w.Namespace != d.App.Cluster():
		case w.Name != work.Name(d.App):
			b = d.endOrphan(ofEnded(w))
		default:
			b = d.remove(d.subject(w))
		}
		first = firstOf(first, b)
	}
	return first
}

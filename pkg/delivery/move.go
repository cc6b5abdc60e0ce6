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

// movesOldFirst are the works of the old clusters of an Application that has no work yet and must not run twice. What the
// target's cluster itself has is the new one's too, and must not be without an owner.
func (d *decision) movesOldFirst() works {
	if d.Own != nil || !d.Move.oldFirst(d.App) {
		return nil
	}
	return d.elsewhere()
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

// askRehearsal is for an Application that cannot have a work on its new cluster: it would run nowhere.
func askRehearsal(d *decision, _ question) answer {
	if len(d.movesOldFirst()) == 0 {
		return open
	}
	if _, err := Rehearsal(d.Facts); err != nil {
		a := unrendered(err)
		a.Reason = cmp.Or(a.Reason, apis.ReasonPayloadTooLarge)
		return a
	}
	if d.lacks(NeedRehearsal) {
		return open
	}
	return rejected(d.Rehearsed)
}

// rejected is an API server's refusal of a work.
func rejected(r *Rejection) answer {
	switch {
	case r == nil:
		return open
	case r.Namespace:
		return answer{Reason: apis.ReasonClusterNamespaceMissing,
			Words: fmt.Sprintf("ManifestWork %s: the cluster's namespace on the hub is missing or being deleted: %s", r.Key, r.Message)}
	}
	return answer{Reason: apis.ReasonWorkRejected, Words: fmt.Sprintf("the hub refused ManifestWork %s: %s", r.Key, r.Message)}
}

// askNewCluster is for an Application that stays where it is because the cluster that it is to go to cannot take it. It is open
// where no old cluster can keep it any more. The cluster's return wakes the decision that goes on.
func askNewCluster(d *decision, _ question) answer {
	away, kept := d.target().Unreachable, d.staying(d.movesOldFirst())
	if away == "" || len(kept) == 0 {
		return open
	}
	return because("%s; %s. To change it where it is, set the annotation %s back to its old cluster; to send it anyway, "+
		"set the annotation %s to %s", d.moving(kept, "%s keeps it unchanged until that cluster can take it"),
		strings.TrimSuffix(away, "."), apis.AnnotationCluster, apis.AnnotationMoveOrder, apis.MoveNewFirst)
}

// askOldCluster is for an Application that its old cluster has to remove first.
func askOldCluster(d *decision, _ question) answer {
	old := d.movesOldFirst()
	if len(old) == 0 {
		return open
	}
	if d.withdrawSent(old) { // its write wakes the decision that goes on
		return because("%s", d.moving(old, "%s keeps it until then"))
	}
	if h := d.removeFormer(old, 0); h != nil {
		d.wait(h.Wait)
		return answer{Words: h.Message, Type: h.Type, Reason: h.Reason}
	}
	words := d.moving(old, "it is sent there when %s has removed it") + d.running(old)
	if kept := d.keptByOlder(); kept != "" {
		words += "; " + kept
	}
	return answer{Words: words, After: d.keptAgain()}
}

// moving is what to tell of an Application that other clusters have as well; empty where none has. format has a place for
// their names.
func (d *decision) moving(others works, format string) string {
	if len(others) == 0 {
		return ""
	}
	var names []string
	for _, w := range others {
		names = append(names, "cluster "+w.Namespace)
	}
	return fmt.Sprintf("moving to cluster %s: "+format, d.App.Cluster(), strings.Join(names, ", ")) + d.blockers(others)
}

// moves is the notice of that, and of what an older controller left elsewhere; nil for none.
func (d *decision) moves(words string) *hold {
	switch kept := d.keptByOlder(); {
	case words == "":
		words = kept
	case kept != "":
		words += "; " + kept
	}
	if words == "" {
		return nil
	}
	return d.met("move", answer{Words: words, After: d.keptAgain()})
}

// leftByOlder tells whether a work is on another cluster than the Application names, as an older controller left it when the
// Application moved. That never deleted such works, and whoever moved the Application may count on what runs there since.
func (d *decision) leftByOlder(w *workv1.ManifestWork) bool {
	return w.Namespace != d.App.Cluster() && work.ByOlder(w) && !d.leaving(w)
}

// keptByOlder tells of those works, and of what a person can do; empty where there are none.
func (d *decision) keptByOlder() string {
	var names, clusters []string
	for _, w := range only(d.Others, d.leftByOlder) {
		names, clusters = append(names, w.Namespace+"/"+w.Name), append(clusters, "cluster "+w.Namespace)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has a copy from an older controller, and keeps it. To remove this copy and what it deployed, delete ManifestWork %s",
		strings.Join(clusters, ", "), strings.Join(names, ", "))
}

// keptAgain is when to look whether somebody has deleted such a work, of those that are not watched; zero for never.
func (d *decision) keptAgain() time.Duration {
	unwatched := func(w *workv1.ManifestWork) bool { return d.leftByOlder(w) && w.Labels[apis.LabelPull] == "" }
	if slices.ContainsFunc(d.Others, unwatched) {
		return seldom
	}
	return 0
}

// clear deletes the works that carried this Application before, once current has taken their place: on the same cluster when
// it has been applied, so that the Application there has a new owner before it loses the old one; on another one when it is
// healthy where it is now, or has not become so in time. changed is set when current is to be written first.
func (d *decision) clear(current *workv1.ManifestWork, changed bool) *hold {
	kept := func(w *workv1.ManifestWork) bool { return !d.leftByOlder(w) }
	others, former := only(d.elsewhere(), kept), only(d.Others, kept)
	switch {
	case len(former) == 0:
		return d.moves("")
	case changed || !applied(current):
		return d.moves(d.moving(others, "%s keeps it until then"))
	}
	left := d.Move.left(d.App, current, d.Now)
	d.wait(Wait{After: left})
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
func (d *decision) removeFormer(ws works, left time.Duration) (first *hold) {
	for _, w := range ws {
		var h *hold
		switch {
		case isHere(w, d.App):
			h = d.drop(w)
		case d.leftByOlder(w):
		case left > 0 && w.Namespace != d.App.Cluster():
		case w.Name != work.Name(d.App):
			h = d.endEarlier(w)
		default:
			h = d.remove(w)
		}
		first = d.firstOf(first, h)
	}
	return first
}

package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// OutageGrace is how long a cluster may be available again while its Placement has not looked yet.
	OutageGrace = 2 * time.Minute

	// ReturnWindow is how long a work stays as it is for an Application that its ApplicationSet makes anew after an outage.
	ReturnWindow = 10 * time.Minute
)

// askOutage is for an Application that goes because its Placement has dropped a cluster that is not available: see docs/lifecycle.md.
// All that it goes by is in objects of the hub, so it holds over restarts. Once an outage is over and the cluster is chosen again,
// the Application ends and its works stay, for the ApplicationSet makes it anew.
func askOutage(d *decision, _ question) answer {
	c := d.target()
	deleted, since := d.App.DeletionTimestamp.Unix(), c.Since
	away, settled := c.Unreachable != "", since+int64(OutageGrace/time.Second)
	switch {
	case !d.endsByItself() || since == 0 || !away && deleted > settled:
		return open
	case d.Own == nil && d.lacks(NeedOwn), len(d.brought()) == 0, !away && !d.outlived(since), d.lacks(NeedChoice), d.Choice.Set == "":
		return open
	case away && d.Choice.Chosen && deleted <= since:
		return d.heldBack("%s, again. Its Placement still chooses it: when it is available, the Application continues there unchanged",
			strings.TrimSuffix(c.Unreachable, "."))
	case away && !d.Choice.Chosen:
		return d.heldBack("%s, so its Placement does not choose it. When it is available and chosen again, the Application continues there unchanged; "+
			"when it is not chosen within %s, the Application is removed there", strings.TrimSuffix(c.Unreachable, "."), OutageGrace)
	case !away && d.Choice.Chosen:
		return d.goesOn()
	case !away && d.Now.Unix() < settled:
		a := d.heldBack("cluster %s is available again since %s, and has until %s to be chosen by its Placement; then the Application is removed there",
			d.App.Cluster(), time.Unix(since, 0).UTC().Format(time.RFC3339), time.Unix(settled, 0).UTC().Format(time.RFC3339))
		a.After = soonest(a.After, min(OutageGrace, time.Unix(settled, 0).Sub(d.Now)))
		return a
	}
	return open
}

// endsByItself tells whether nobody but an ApplicationSet can be seen to want the end of an Application that its cluster would
// have to confirm.
func (d *decision) endsByItself() bool {
	_, ofSet := d.App.ApplicationSet()
	return ofSet && d.App.Cascades() && Named(d.App) && !d.App.ToBeReleased() && !d.App.ToBeForced() && !d.App.DeletedOnOutage() &&
		d.target().NotWaitedFor() == ""
}

// brought are the works that may have brought the Application to its clusters, and are not told to go.
func (d *decision) brought() works {
	return only(d.staying(d.all()), func(w *workv1.ManifestWork) bool { return !d.earlier(w) && !goesUnseen(w, false) })
}

// outlived tells whether a work is older than the time since when its cluster is available: otherwise it has seen no outage.
func (d *decision) outlived(since int64) bool {
	return slices.ContainsFunc(d.brought(), func(w *workv1.ManifestWork) bool { return w.CreationTimestamp.Unix() <= since })
}

// heldBack is why nothing is removed for an outage, and what a person can do.
func (d *decision) heldBack(format string, args ...any) answer {
	a := because("its deletion, requested at %s, waits: "+format+". The Application belongs to ApplicationSet %s. To remove it without waiting, "+
		"set the annotation %s, or %s, to \"true\"", append(append([]any{d.App.DeletionTimestamp.UTC().Format(time.RFC3339)}, args...),
		d.Choice.Set, apis.AnnotationDeleteOnOutage, apis.AnnotationForceDelete)...)
	if unreadable(d.App, apis.AnnotationDeleteOnOutage) {
		a.Words += "; " + misread(d.App, apis.AnnotationDeleteOnOutage, "true", "false")
	}
	if d.Choice.Unwatched {
		a.After = seldom
	}
	return a
}

// goesOn lets the works of an Application stay for the one that its ApplicationSet makes in its place, and then lets it go from the
// hub. The works remember that first: their change wakes the decision that goes on. One on a cluster that is paused is not written, and
// without the mark it would go when the pause is over: the Application stays until then, whose works the end of the pause wakes.
func (d *decision) goesOn() answer {
	marked, paused := true, ""
	for _, w := range d.brought() {
		if returnsBy(w, d.Now).Sub(d.Now) > ReturnWindow/2 {
			continue
		}
		marked = false
		if by := d.Clusters[w.Namespace].Paused; by != "" {
			paused = by
			continue
		}
		d.update(w, annotated(w, apis.AnnotationReturnsBy, d.Now.Add(ReturnWindow).UTC().Format(time.RFC3339)))
	}
	if marked {
		d.dropFinalizers()
	}
	over := fmt.Sprintf("cluster %s is available and chosen again: what runs there continues unchanged, and ApplicationSet %s creates the "+
		"Application again",
		d.App.Cluster(), d.Choice.Set)
	if paused != "" {
		a := because("its deletion waits for the end of a pause: %s. Then it ends on the hub only: %s", pausedBy(paused), over)
		a.Reason = apis.ReasonPaused
		return a
	}
	a := because("%s", over)
	a.Reason = apis.ReasonOutageOver
	return a
}

// askMadeAnew is for a work whose Application its ApplicationSet is to make anew, after an outage. Another outage makes the
// ApplicationSet wait, and so the work.
func askMadeAnew(d *decision, q question) answer {
	w, c := q.work, d.Clusters[q.work.Namespace]
	by := returnsBy(w, d.Now)
	switch back := time.Unix(c.Since, 0).Add(ReturnWindow); {
	case by.IsZero() || w.Annotations[apis.AnnotationOrphaned] != "" || c.NotWaitedFor() != "":
		return open
	case c.Unreachable != "":
		return because("%s, and its ApplicationSet has to create the Application again", strings.TrimSuffix(c.Unreachable, "."))
	case back.After(by):
		by = back
	}
	left := min(by.Sub(d.Now), ReturnWindow)
	if left <= 0 {
		return open
	}
	a := because("the outage of cluster %s is over, and its ApplicationSet has to create the Application again", w.Namespace)
	a.After = left
	return a
}

// tellOfLeft warns that an outage has left what an Application deployed without an owner, with the write by which the Application's end on
// its cluster begins: its ApplicationSet has not made it anew. There is no Application to say it on. A work that carries a request
// is only released: the Application stays on its cluster.
func (d *decision) tellOfLeft(w *workv1.ManifestWork) {
	i := slices.IndexFunc(d.plan.Steps, func(s Step) bool { return s.Verb == work.VerbUpdate && s.Was.UID == w.UID })
	if i < 0 || returnsBy(w, d.Now).IsZero() || w.Annotations[apis.AnnotationOrphaned] != "" || work.CarriesRequest(w) {
		return
	}
	s := &d.plan.Steps[i]
	s.Events = append(s.Events, Event{On: s.Work, Warning: true, Reason: apis.ReasonLeftByOutage, Action: "Delete",
		Note: fmt.Sprintf("the outage of cluster %s is over, and ApplicationSet %s has not created Application %s again within %s. The "+
			"Application is removed from "+
			"the cluster, and what it deployed stays there without an owner. Delete that there, or let the ApplicationSet create the Application "+
			"again, which takes it over", w.Namespace, w.Annotations[apis.AnnotationApplicationSet], d.Key, ReturnWindow)})
}

// returnsBy is until when a work is to stay for that; zero where it is not. The work's cluster may have written the time.
func returnsBy(w *workv1.ManifestWork, now time.Time) time.Time {
	by, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationReturnsBy])
	if err != nil || work.Released(w) || by.Sub(now) > 2*ReturnWindow {
		return time.Time{}
	}
	return by
}

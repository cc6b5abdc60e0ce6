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

// outlasting are the steps before the removal of an Application that is being deleted begins.
var outlasting = []*Gate{
	{Name: "outage", Type: deleting, Reason: apis.ReasonHeldInOutage, step: outlastOutage},
}

// outlastOutage is for an Application that goes because its Placement has dropped a cluster that is not available: see docs/lifecycle.md.
// All that it goes by is in objects of the hub, so it holds over restarts. Once an outage is over and the cluster is chosen again,
// the Application ends and its works stay, for the ApplicationSet makes it anew.
func outlastOutage(v *view, _ *subject) outcome {
	c := v.target()
	deleted, since := v.App.DeletionTimestamp.Unix(), c.Since
	away, settled := c.Unreachable != "", since+int64(OutageGrace/time.Second)
	switch {
	case !v.endsByItself() || since == 0 || !away && deleted > settled:
		return done
	case v.Own == nil && !v.knows(NeedOwn):
		return outcome{verdict: require(NeedOwn)}
	case len(v.brought()) == 0, !away && !v.outlived(since):
		return done
	case !v.knows(NeedChoice):
		return outcome{verdict: require(NeedChoice)}
	case v.Choice.Set == "":
		return done
	case away && v.Choice.Chosen && deleted <= since:
		return v.heldBack("%s, again. Its Placement still chooses it: when it is available, the Application continues there unchanged",
			strings.TrimSuffix(c.Unreachable, "."))
	case away && !v.Choice.Chosen:
		return v.heldBack("%s, so its Placement does not choose it. When it is available and chosen again, the Application continues there unchanged; "+
			"when it is not chosen within %s, the Application is removed there", strings.TrimSuffix(c.Unreachable, "."), OutageGrace)
	case !away && v.Choice.Chosen:
		return v.goesOn()
	case !away && v.Now.Unix() < settled:
		wait := v.heldBack("cluster %s is available again since %s, and has until %s to be chosen by its Placement; then the Application is removed there",
			v.App.Cluster(), time.Unix(since, 0).UTC().Format(time.RFC3339), time.Unix(settled, 0).UTC().Format(time.RFC3339))
		wait.After = soonest(wait.After, min(OutageGrace, time.Unix(settled, 0).Sub(v.Now)))
		return wait
	}
	return done
}

// endsByItself tells whether nobody but an ApplicationSet can be seen to want the end of an Application that its cluster would
// have to confirm.
func (v *view) endsByItself() bool {
	_, ofSet := v.App.ApplicationSet()
	return ofSet && v.App.Cascades() && Named(v.App) && !v.App.ToBeReleased() && !v.App.ToBeForced() && !v.App.DeletedOnOutage() &&
		v.target().NotWaitedFor() == ""
}

// brought are the works that may have brought the Application to its clusters, and are not told to go.
func (v *view) brought() works {
	return only(v.staying(v.all()), func(w *workv1.ManifestWork) bool { return !v.earlier(w) && !deletableUnseen(w, false) })
}

// outlived tells whether a work is older than the time since when its cluster is available: otherwise it has seen no outage.
func (v *view) outlived(since int64) bool {
	return slices.ContainsFunc(v.brought(), func(w *workv1.ManifestWork) bool { return w.CreationTimestamp.Unix() <= since })
}

// heldBack is why nothing is removed for an outage, and what a person can do.
func (v *view) heldBack(format string, args ...any) outcome {
	wait := waitf("its deletion, requested at %s, waits: "+format+". The Application belongs to ApplicationSet %s. To remove it without waiting, "+
		"set the annotation %s, or %s, to \"true\"", append(append([]any{v.App.DeletionTimestamp.UTC().Format(time.RFC3339)}, args...),
		v.Choice.Set, apis.AnnotationDeleteOnOutage, apis.AnnotationForceDelete)...)
	if unreadable(v.App, apis.AnnotationDeleteOnOutage) {
		wait.Words += "; " + misread(v.App, apis.AnnotationDeleteOnOutage, "true", "false")
	}
	if v.Choice.Unwatched {
		wait.After = slowRecheck
	}
	return wait
}

// goesOn lets the works of an Application stay for the one that its ApplicationSet makes in its place, and then lets it go from the
// hub. The works remember that first: their change wakes the decision that goes on. One on a cluster that is paused is not written, and
// without the mark it would go when the pause is over: the Application stays until then, whose works the end of the pause wakes.
func (v *view) goesOn() outcome {
	wait, marked, paused := outcome{}, true, ""
	for _, w := range v.brought() {
		if returnsBy(w, v.Now).Sub(v.Now) > ReturnWindow/2 {
			continue
		}
		marked = false
		if by := v.Clusters[w.Namespace].Paused; by != "" {
			paused = by
			continue
		}
		wait = wait.changing(w, annotated(w, apis.AnnotationReturnsBy, v.Now.Add(ReturnWindow).UTC().Format(time.RFC3339)))
	}
	wait.finalize = marked
	wait.Reason = apis.ReasonOutageOver
	wait.Words = fmt.Sprintf("cluster %s is available and chosen again: what runs there continues unchanged, and ApplicationSet %s creates the "+
		"Application again",
		v.App.Cluster(), v.Choice.Set)
	if paused != "" {
		wait.Reason = apis.ReasonPaused
		wait.Words = "its deletion waits for the end of a pause: " + pausedBy(paused) + ". Then it ends on the hub only: " + wait.Words
	}
	return wait
}

// waitForReturn is for a work whose Application its ApplicationSet is to make anew, after an outage. Another outage makes the
// ApplicationSet wait, and so the work.
func waitForReturn(v *view, s *subject) outcome {
	c := v.Clusters[s.Namespace]
	by := returnsBy(s.ManifestWork, v.Now)
	switch back := time.Unix(c.Since, 0).Add(ReturnWindow); {
	case by.IsZero() || s.Annotations[apis.AnnotationOrphaned] != "" || c.NotWaitedFor() != "":
		return done
	case c.Unreachable != "":
		return waitf("%s, and its ApplicationSet has to create the Application again", strings.TrimSuffix(c.Unreachable, "."))
	case back.After(by):
		by = back
	}
	left := min(by.Sub(v.Now), ReturnWindow)
	if left <= 0 {
		return done
	}
	wait := waitf("the outage of cluster %s is over, and its ApplicationSet has to create the Application again", s.Namespace)
	wait.After = left
	return wait
}

// tellOfOutage warns that an outage has left what an Application deployed without an owner, with the write by which the Application's end on
// its cluster begins: its ApplicationSet has not made it anew. There is no Application to say it on. A work that carries a request
// is only released: the Application stays on its cluster.
func (p *Plan) tellOfOutage(w *workv1.ManifestWork, f *Facts) {
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Verb == work.VerbUpdate && s.Was.UID == w.UID })
	if i < 0 || returnsBy(w, f.Now).IsZero() || w.Annotations[apis.AnnotationOrphaned] != "" || work.CarriesRequest(w) {
		return
	}
	s := &p.Steps[i]
	s.Events = append(s.Events, Event{On: s.Work, Warning: true, Reason: apis.ReasonLeftByOutage, Action: "Delete",
		Note: fmt.Sprintf("the outage of cluster %s is over, and ApplicationSet %s has not created Application %s again within %s. The "+
			"Application is removed from "+
			"the cluster, and what it deployed stays there without an owner. Delete that there, or let the ApplicationSet create the Application "+
			"again, which takes it over", w.Namespace, w.Annotations[apis.AnnotationApplicationSet], f.Key, ReturnWindow)})
}

// returnsBy is until when a work is to stay for that; zero where it is not. The work's cluster may have written the time.
func returnsBy(w *workv1.ManifestWork, now time.Time) time.Time {
	by, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationReturnsBy])
	if err != nil || work.Released(w) || by.Sub(now) > 2*ReturnWindow {
		return time.Time{}
	}
	return by
}

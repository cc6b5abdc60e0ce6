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
	// OutageGrace is the time for the Placement to react after the return of a cluster.
	OutageGrace = 2 * time.Minute

	// ReturnWindow is the time for an ApplicationSet to create an Application again after an outage. The work stays
	// unchanged meanwhile.
	ReturnWindow = 10 * time.Minute
)

// outlasting are the steps before the removal of an Application in deletion.
var outlasting = []*Gate{
	{Name: "outage", Type: deleting, Reason: apis.ReasonHeldInOutage, step: outlastOutage},
}

// outlastOutage delays the removal of an Application after the Placement has dropped an unavailable cluster: see
// docs/lifecycle.md. All inputs are in objects of the hub, and survive restarts. If the cluster is chosen again after
// the outage, the Application ends and its works stay, because the ApplicationSet creates the Application again.
func outlastOutage(v *view, _ *subject) block {
	c := v.target()
	deleted, since := v.App.DeletionTimestamp.Unix(), c.Since
	away, settled, brought := c.Unreachable != "", since+int64(OutageGrace/time.Second), v.brought()
	// A work that is younger than the present availability of its cluster has seen no outage.
	outlived := func(w *workv1.ManifestWork) bool { return w.CreationTimestamp.Unix() <= since }
	switch {
	case !v.endsByItself() || since == 0 || !away && deleted > settled:
		return done
	case v.Own == nil && !v.knows(FactOwn):
		return require(FactOwn)
	case len(brought) == 0, !away && !slices.ContainsFunc(brought, outlived):
		return done
	case !v.knows(FactChoice):
		return require(FactChoice)
	case v.Choice.Set == "":
		return done
	case away && v.Choice.Chosen && deleted <= since:
		return v.heldBack("%s, again. The Placement still chooses the cluster: when the cluster is available, its Application continues unchanged",
			strings.TrimSuffix(c.Unreachable, "."))
	case away && !v.Choice.Chosen:
		return v.heldBack("%s, so the Placement does not choose the cluster. When the cluster is available and chosen again, its Application "+
			"continues unchanged. If the Placement does not choose the cluster within %s, the Application is removed from the "+
			"cluster", strings.TrimSuffix(c.Unreachable, "."), OutageGrace)
	case !away && v.Choice.Chosen:
		return v.goesOn(brought)
	case !away && v.Now.Unix() < settled:
		wait := v.heldBack("cluster %s is available again since %s; if the Placement does not choose the cluster before %s, the Application is "+
			"removed from the cluster",
			v.App.Cluster(), time.Unix(since, 0).UTC().Format(time.RFC3339), time.Unix(settled, 0).UTC().Format(time.RFC3339))
		wait.Wait = wait.Wait.and(Wait{After: min(OutageGrace, time.Unix(settled, 0).Sub(v.Now))})
		return wait
	}
	return done
}

// endsByItself reports whether apparently only an ApplicationSet requests the end of the Application, and the cluster
// must confirm the end.
func (v *view) endsByItself() bool {
	_, ofSet := v.App.ApplicationSet()
	return ofSet && v.App.Cascades() && Named(v.App) && !v.App.ToBeReleased() && !v.App.ToBeForced() && !v.App.DeletedOnOutage() &&
		v.target().NotWaitedFor() == ""
}

// brought returns the works that may have delivered the Application to its clusters, without works in deletion.
func (v *view) brought() works {
	return only(v.staying(v.all()), func(w *workv1.ManifestWork) bool { return !v.earlier(w) && !deletableUnseen(w, false) })
}

// heldBack explains why an outage delays a removal, and the possible action.
func (v *view) heldBack(format string, args ...any) block {
	wait := blockf("the deletion, requested at %s, waits: "+format+". The Application belongs to ApplicationSet %s. To remove the Application "+
		"without waiting, "+
		"set the annotation %s, or %s, to \"true\"", append(append([]any{v.App.DeletionTimestamp.UTC().Format(time.RFC3339)}, args...),
		v.Choice.Set, apis.AnnotationDeleteOnOutage, apis.AnnotationForceDelete)...)
	if unreadable(v.App, apis.AnnotationDeleteOnOutage) {
		wait.Message += "; " + misread(v.App, apis.AnnotationDeleteOnOutage, "true", "false")
	}
	if v.Choice.Unwatched {
		wait.After = slowRecheck
	}
	return wait
}

// goesOn keeps the works that have brought an Application for its successor from the ApplicationSet, and then removes
// the Application from the hub. The works are marked first: their change wakes the controller for the next decision.
// The works on a paused cluster are not written, and a work without the mark would be removed after the pause. So the
// Application stays until the end of the pause, which wakes the controller.
func (v *view) goesOn(brought works) block {
	wait, marked, paused := block{}, true, ""
	for _, w := range brought {
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
	wait.Message = fmt.Sprintf("cluster %s is available and chosen again: the workload continues unchanged, and ApplicationSet %s creates the "+
		"Application again",
		v.App.Cluster(), v.Choice.Set)
	if paused != "" {
		wait.Reason = apis.ReasonPaused
		wait.Message = "the deletion waits for the end of a pause: " + pausedBy(paused) + ". After the pause, the Application is deleted on the hub " +
			"only: " + wait.Message
	}
	return wait
}

// waitForReturn waits for the ApplicationSet to create the Application of a work again, after an outage. A further
// outage extends the wait.
func waitForReturn(v *view, s *subject) block {
	c := v.Clusters[s.Namespace]
	by := returnsBy(s.ManifestWork, v.Now)
	switch back := time.Unix(c.Since, 0).Add(ReturnWindow); {
	case by.IsZero() || s.Annotations[apis.AnnotationOrphaned] != "" || c.NotWaitedFor() != "":
		return done
	case c.Unreachable != "":
		return blockf("%s, and its ApplicationSet has to create the Application again", strings.TrimSuffix(c.Unreachable, "."))
	case back.After(by):
		by = back
	}
	remaining := min(by.Sub(v.Now), ReturnWindow)
	if remaining <= 0 {
		return done
	}
	wait := blockf("the outage of cluster %s is over, and its ApplicationSet has to create the Application again", s.Namespace)
	wait.After = remaining
	return wait
}

// tellOfOutage warns that an outage has left the workload of an Application without an owner: the ApplicationSet has
// not created the Application again. The warning comes with the first write of the removal. Without an Application,
// the event is on the work. A work with a request is only released: the Application stays on its cluster.
func (p *Plan) tellOfOutage(w *workv1.ManifestWork, f *Facts) {
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Verb == work.VerbUpdate && s.Was.UID == w.UID })
	if i < 0 || returnsBy(w, f.Now).IsZero() || w.Annotations[apis.AnnotationOrphaned] != "" || work.CarriesRequest(w) {
		return
	}
	s := &p.Steps[i]
	s.Events = append(s.Events, Event{On: s.Work, Warning: true, Reason: apis.ReasonLeftByOutage, Action: "Delete",
		Note: fmt.Sprintf("the outage of cluster %s is over, and ApplicationSet %s has not created Application %s again within %s. The "+
			"Application is removed from the cluster, and its deployed resources stay there without an owner. Delete the resources on the cluster, "+
			"or let the ApplicationSet create the Application again, which takes over the "+
			"resources", w.Namespace, w.Annotations[apis.AnnotationApplicationSet], f.Key, ReturnWindow)})
}

// returnsBy returns the time until which a work stays for the return of its Application; zero for none. The work's
// cluster may have written the time, so a time too far ahead does not count.
func returnsBy(w *workv1.ManifestWork, now time.Time) time.Time {
	by, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationReturnsBy])
	if err != nil || work.Released(w) || by.Sub(now) > 2*ReturnWindow {
		return time.Time{}
	}
	return by
}

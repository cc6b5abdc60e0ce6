package delivery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// deletionNotice is the notice about a deletion under way.
var deletionNotice = &Gate{Name: "deletion", Type: deleting, Reason: apis.ReasonDeleting}

// end removes an Application in deletion from its clusters. While a cluster is awaited, the condition mentions an
// unreadable annotation force-delete. Without finalizers of Argo CD, end does nothing until the Application is gone.
func (d *decision) end() {
	b := d.firstBlock(End)
	if b == nil {
		b = d.advance(outlasting, nil)
	}
	switch {
	case b != nil:
		d.plan.addCondition(b)
		return
	case !d.App.Cascades():
		return
	case d.App.ToBeReleased() || d.App.Cluster() == "":
		d.endReleased()
	default:
		d.finalize()
	}
	for i := range d.plan.Conditions {
		if c := &d.plan.Conditions[i]; c.notice() && unreadable(d.App, apis.AnnotationForceDelete) {
			c.Message += "; Towline does not force the deletion: " + misread(d.App, apis.AnnotationForceDelete, "true", "false")
		}
	}
}

// finalize removes the Application from its clusters. Argo CD's finalizers leave the hub's Application when the work
// is gone. The work agent permits the end of the work only after the cluster has removed the Application, and with the
// same finalizers the workload. Works of earlier Applications of the same name, at other targets, end like orphans.
// finalize does not wait for the end of these works. But finalize shows an obstacle with its own condition, such as a
// pause of the cluster, and waits for the end of the obstacle.
func (d *decision) finalize() {
	if d.Own == nil && Named(d.App) && d.require(FactOwn) {
		return
	}
	ws := d.all()
	if d.OwnUnwatched {
		d.plan.addWait(Wait{After: poll})
	}
	var first *block
	for _, w := range ws {
		first = cmp.Or(first, d.endWork(d.leaving(w)).shown())
	}
	awaited := only(ws, func(w *workv1.ManifestWork) bool { return !d.earlier(w) })
	switch {
	case first != nil:
		d.plan.addCondition(first)
	case len(awaited) == 0:
		d.plan.dropFinalizers(d.App)
	default:
		d.await(awaited)
	}
}

// await ends an Application if none of its clusters is awaited. Otherwise await shows the awaited clusters. For the
// other clusters, await deletes the works at once, because no controller will wait for these works later. If the
// workload or a side manifest is to stay, the work goes on to wait without the Application.
func (d *decision) await(ws works) {
	reasons := d.notWaitedFor(clustersOf(ws))
	var waited works
	for _, w := range ws {
		if reasons[w.Namespace] == "" {
			waited = append(waited, w)
			continue
		}
		if !argocd.Destroys(cascade(d.App)) || work.Seen(w) && !d.report(w).SideManifestsKept() {
			continue
		}
		if b := d.endWork(d.subject(w), replacement); b != nil {
			d.plan.addCondition(b)
			return
		}
	}
	if len(waited) == 0 {
		d.plan.giveUp(d.App, reasons)
		return
	}
	d.plan.addCondition(d.plan.blockAt(deletionNotice, blockf(
		"being deleted since %s: waiting for cluster %s to remove the Application and its deployed resources%s%s",
		d.App.DeletionTimestamp.UTC().Format(time.RFC3339), strings.Join(clustersOf(waited), ", "),
		d.away(clustersOf(waited), d.blockers(waited)), d.running(waited))))
}

// notWaitedFor returns the clusters that Towline does not await, with the reasons: a user's annotation, or a cluster
// that no longer exists. Each cluster is judged separately, because another cluster may still have its objects.
func (v *view) notWaitedFor(clusters []string) map[string]string {
	out := map[string]string{}
	for _, name := range clusters {
		why := v.Clusters[name].NotWaitedFor()
		if v.App.ToBeForced() {
			why = "the annotation " + apis.AnnotationForceDelete + " requests the deletion without confirmation"
		}
		if why != "" {
			out[name] = why
		}
	}
	return out
}

// away returns the words after a notice about awaited clusters: other known obstacles, the unreachable clusters, and
// the required action.
func (v *view) away(clusters []string, others string) string {
	var b strings.Builder
	b.WriteString(others)
	for _, name := range clusters {
		if why := v.Clusters[name].Unreachable; why != "" {
			b.WriteString("; " + why)
		}
	}
	if b.Len() > 0 {
		b.WriteString("; to delete the Application without confirmation, set the annotation " + apis.AnnotationForceDelete + " to \"true\"")
	}
	return b.String()
}

// dropFinalizers removes Argo CD's finalizers from the hub's Application. Other finalizers stay.
func (p *Plan) dropFinalizers(app *argocd.Application) {
	others := slices.DeleteFunc(slices.Clone(app.Finalizers), argocd.IsCascadeFinalizer)
	p.hub().Finalizers = &others
}

// giveUp drops the finalizers of an Application whose clusters are not awaited, and records events.
func (p *Plan) giveUp(app *argocd.Application, reasons map[string]string) {
	p.dropFinalizers(app)
	for _, cluster := range slices.Sorted(maps.Keys(reasons)) {
		p.Events = append(p.Events, Event{
			Warning: true, Reason: apis.ReasonDeletedUnconfirmed, Action: "Delete",
			Note: fmt.Sprintf("deleted from the hub without confirmation by cluster %s: %s; Application %s/%s and its deployed resources may still "+
				"be on the cluster",
				cluster, reasons[cluster], app.ClusterNamespace(), app.Name),
		})
	}
}

// endReleased ends an Application in deletion that asks for its release, names no cluster, or has lost its label. The
// clusters keep everything. Before the last finalizer leaves the hub, the cache is not enough to prove that no work
// exists.
func (d *decision) endReleased() {
	ws := d.all()
	if len(ws) == 0 && d.Own == nil && Named(d.App) && d.require(FactOwn) {
		return
	}
	b := d.releaseAll(ws)
	if b == nil {
		d.plan.endUnasked(d.App)
		return
	}
	clusters := clustersOf(ws)
	reasons := d.notWaitedFor(clusters)
	if len(reasons) == len(clusters) {
		d.plan.giveUp(d.App, reasons)
		return
	}
	waited := slices.DeleteFunc(clusters, func(c string) bool { return reasons[c] != "" })
	d.plan.addCondition(b.and(d.away(waited, "")))
}

// endUnasked ends an Application without any cluster to ask. For an Application without the pull label, users do not
// expect an end by Towline, so endUnasked adds an event.
func (p *Plan) endUnasked(app *argocd.Application) {
	p.dropFinalizers(app)
	if app.Labels[apis.LabelPull] == "" {
		p.Events = append(p.Events, Event{
			Reason: apis.ReasonReleased, Action: "Delete",
			Note: fmt.Sprintf("deleted from the hub only: the Application lacked the label %s, so Towline asked no cluster to remove the "+
				"Application", apis.LabelPull),
		})
	}
}

// handBack handles an Application in deletion that apparently belongs to the hub's own Argo CD. Towline must not
// remove the finalizers. The works are released, as without a deletion.
func (d *decision) handBack() {
	if b := d.firstBlock(HandBack); b != nil {
		d.plan.addCondition(b)
		return
	}
	notice := d.releaseAll(d.all())
	if d.App.Cascades() {
		notice = d.plan.blockAt(deletionNotice, blockf(
			"being deleted since %s: the hub's own Argo CD has to remove the finalizers, because the annotation %s is not \"true\". If no Argo CD on "+
				"the hub removes the finalizers, set this annotation to \"true\". If the workload should stay on its cluster, also set the annotation "+
				"%s to \"true\"",
			d.App.DeletionTimestamp.UTC().Format(time.RFC3339), apis.AnnotationSkipReconcile, apis.AnnotationRelease)).meanwhile(notice)
	}
	d.plan.addCondition(notice)
}

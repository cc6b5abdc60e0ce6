package delivery

import (
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

// deletionNotice tells of a deletion under way.
var deletionNotice = &Gate{Name: "deletion", Type: deleting, Reason: apis.ReasonDeleting, Quiet: true}

// end takes an Application that is being deleted off its clusters. An annotation that should hurry that and cannot be read is
// told of where a cluster is waited for. An Application without finalizers of Argo CD's is left alone until it is gone.
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
			c.Message += "; nothing is forced: " + misread(d.App, apis.AnnotationForceDelete, "true", "false")
		}
	}
}

// finalize removes the Application from its clusters. Argo CD's finalizers go from the hub's copy when its work is gone, which
// the work agent allows only once the cluster has removed the Application and, through the same finalizers there, what it
// deployed. Those of earlier Applications of its name, elsewhere, end as those did, and are not waited for.
func (d *decision) finalize() {
	if d.Own == nil && Named(d.App) && d.require(NeedOwn) {
		return
	}
	ws := d.all()
	if d.OwnUnwatched {
		d.plan.addWait(Wait{After: poll})
	}
	var first *block
	for _, w := range ws {
		if d.earlier(w) {
			first = firstOf(first, d.endOrphan(ofEnded(w)))
		} else {
			first = firstOf(first, d.remove(d.subject(w)))
		}
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

// await ends an Application when no cluster of its works is waited for any more, and otherwise tells of those that are. The
// deletion of works that waited for agents which are not waited for is asked for at once: nothing on the hub will wait for
// them. Where what the Application deployed is to stay, or something else in the work, they go on waiting without it.
func (d *decision) await(ws works) {
	reasons := d.notWaitedFor(clustersOf(ws))
	var waited works
	for _, w := range ws {
		if reasons[w.Namespace] == "" {
			waited = append(waited, w)
			continue
		}
		if !argocd.Destroys(cascade(d.App)) || work.Seen(w) && !work.Bare(w) {
			continue
		}
		if b := d.drop(d.subject(w)); b != nil {
			d.plan.addCondition(b)
			return
		}
	}
	if len(waited) == 0 {
		d.plan.giveUp(d.App, reasons)
		return
	}
	d.plan.addCondition(d.plan.blockAt(deletionNotice, blockf(
		"being deleted since %s: waiting for cluster %s to remove the Application and what it deployed%s%s",
		d.App.DeletionTimestamp.UTC().Format(time.RFC3339), strings.Join(clustersOf(waited), ", "),
		d.away(clustersOf(waited), d.blockers(waited)), d.running(waited))))
}

// notWaitedFor are the clusters of those that are not waited for, each with the reason: because someone says so, or because
// there is no cluster any more that could answer. Each is judged by itself: another that is there still has what it has.
func (v *view) notWaitedFor(clusters []string) map[string]string {
	out := map[string]string{}
	for _, name := range clusters {
		why := v.Clusters[name].NotWaitedFor()
		if v.App.ToBeForced() {
			why = "the annotation " + apis.AnnotationForceDelete + " says not to wait"
		}
		if why != "" {
			out[name] = why
		}
	}
	return out
}

// away is to be put behind a notice of clusters that are waited for: what else is known to be in the way, which of them
// cannot be heard of, and what to do.
func (v *view) away(clusters []string, others string) string {
	var b strings.Builder
	b.WriteString(others)
	for _, name := range clusters {
		if why := v.Clusters[name].Unreachable; why != "" {
			b.WriteString("; " + why)
		}
	}
	if b.Len() > 0 {
		b.WriteString("; to delete it without confirmation, set the annotation " + apis.AnnotationForceDelete + " to \"true\"")
	}
	return b.String()
}

// dropFinalizers takes Argo CD's finalizers off the hub's Application. Those of others stay.
func (p *Plan) dropFinalizers(app *argocd.Application) {
	left := slices.DeleteFunc(slices.Clone(app.Finalizers), argocd.IsCascadeFinalizer)
	p.hub().Finalizers = &left
}

// giveUp drops the finalizers of an Application whose clusters are not waited for, and records events.
func (p *Plan) giveUp(app *argocd.Application, reasons map[string]string) {
	p.dropFinalizers(app)
	for _, cluster := range slices.Sorted(maps.Keys(reasons)) {
		p.Events = append(p.Events, Event{
			Warning: true, Reason: apis.ReasonDeletedUnconfirmed, Action: "Delete",
			Note: fmt.Sprintf("deleted from the hub without confirmation by cluster %s: %s; Application %s/%s and what it deployed may still be there",
				cluster, reasons[cluster], app.ClusterNamespace(), app.Name),
		})
	}
}

// endReleased is for an Application that is being deleted and asks to be released, names no cluster any more, or has lost its
// label: the clusters keep all. Before nothing holds it on the hub any more, the cache's word for its having no work does not do.
func (d *decision) endReleased() {
	ws := d.all()
	if len(ws) == 0 && d.Own == nil && Named(d.App) && d.require(NeedOwn) {
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

// endUnasked ends an Application that no cluster is asked about any more. One that has lost its label is not expected to go by
// Towline, so that is told.
func (p *Plan) endUnasked(app *argocd.Application) {
	p.dropFinalizers(app)
	if app.Labels[apis.LabelPull] == "" {
		p.Events = append(p.Events, Event{
			Reason: apis.ReasonReleased, Action: "Delete",
			Note: fmt.Sprintf("deleted from the hub only: it lacked the label %s, so no cluster was asked to remove anything", apis.LabelPull),
		})
	}
}

// handBack is for an Application that is being deleted and that the hub's own Argo CD answers for, as it seems: its
// finalizers are not Towline's to take off. What was sent is released, as without a deletion.
func (d *decision) handBack() {
	if b := d.firstBlock(HandBack); b != nil {
		d.plan.addCondition(b)
		return
	}
	notice := d.releaseAll(d.all())
	if d.App.Cascades() {
		notice = d.plan.blockAt(deletionNotice, blockf(
			"being deleted since %s: the hub's own Argo CD has to remove its finalizers, because the annotation %s is not \"true\". If no Argo CD "+
				"on the hub does that, set this annotation to \"true\", and also the annotation %s if what runs on a cluster should stay there",
			d.App.DeletionTimestamp.UTC().Format(time.RFC3339), apis.AnnotationSkipReconcile, apis.AnnotationRelease)).meanwhile(notice)
	}
	d.plan.addCondition(notice)
}

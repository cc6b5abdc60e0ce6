package delivery

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// orphan deals with the works of an Application that the API server does not have. What it deployed stays on the clusters in
// any case: nothing takes a finalizer of Argo CD off the hub before its cluster is done but a person, or a loss. There is no
// Application to show anything on.
func (d *decision) orphan() {
	for _, w := range d.Others {
		h := d.orphanWork(w)
		if h == nil {
			continue
		}
		h.Backoff = h.Backoff || h.Type != "" && !h.notice()
		d.wait(h.Wait)
	}
}

func (d *decision) orphanWork(w *workv1.ManifestWork) *hold {
	switch {
	case d.leaving(w):
		return nil
	case work.Released(w), w.Annotations[apis.AnnotationOrphaned] == AfterRestoreAdopt:
		return d.leave(w)
	}
	if h := d.held(Orphan, w); h != nil {
		return h
	}
	lost := d.lost(w)
	switch {
	case lost && d.afterRestore(w) == AfterRestoreAdopt:
		return d.leave(w)
	case lost:
		return d.keep(w)
	}
	h := d.endOrphan(w)
	d.tellOfLeft(w)
	return h
}

// endOrphan takes off its cluster what a work has there of an Application that has ended, and leaves what that deployed. One
// that carries a request is released instead: nobody knows any more what to put in its place. The word of a person on the work
// goes before: while the cluster is waited for, it is not too late to keep the Application there too.
func (d *decision) endOrphan(w *workv1.ManifestWork) *hold {
	said := w.Annotations[apis.AnnotationOrphaned]
	switch {
	case d.leaving(w), said == AfterRestoreHold:
		return nil
	case work.Released(w), work.CarriesRequest(w), said == AfterRestoreAdopt:
		return d.leave(w)
	}
	return d.remove(w)
}

// endEarlier does so for the work of an earlier Application of the name, which the hub has no more.
func (d *decision) endEarlier(w *workv1.ManifestWork) *hold {
	facts := d.Facts
	defer func() { d.Facts = facts }()
	ended := *facts
	ended.App = nil
	d.Facts = &ended
	return d.endOrphan(w)
}

// afterRestore is what becomes of a work whose Application the hub has lost: what is said of all, unless the work says.
func (d *decision) afterRestore(w *workv1.ManifestWork) string {
	if said := w.Annotations[apis.AnnotationOrphaned]; slices.Contains(AfterRestoreModes, said) {
		return said
	}
	return d.AfterRestore
}

// askLoss is for a work while others are looked for that the hub has lost at the same time.
func askLoss(d *decision, q question) answer {
	if d.afterRestore(q.work) == AfterRestoreDelete || d.lacks(NeedLoss) || q.work.Annotations[apis.AnnotationOrphanedAt] != "" || d.Loss.Left <= 0 {
		return open
	}
	a := because("others may have been lost with it")
	a.After = d.Loss.Left
	return a
}

// lost tells whether the hub has lost the Application of a work, rather than deleted it: it has never told of its end,
// and there are many such or it is known to have been restored. One that was held once stays so, but for an end that is
// told of: the Application was there again.
func (d *decision) lost(w *workv1.ManifestWork) bool {
	switch {
	case d.afterRestore(w) == AfterRestoreDelete:
		return false
	case w.Annotations[apis.AnnotationOrphanedAt] != "":
		return d.Loss.Held
	}
	return d.Loss.Lost
}

// keep marks a work that nobody speaks for any more, so that it is kept whatever restarts, and says so.
func (d *decision) keep(w *workv1.ManifestWork) *hold {
	if w.Annotations[apis.AnnotationOrphanedAt] != "" {
		return nil
	}
	if h := d.held(Keep, w); h != nil {
		return h
	}
	updated := annotated(w, apis.AnnotationOrphanedAt, d.Now.UTC().Format(time.RFC3339))
	metav1.SetMetaDataLabel(&updated.ObjectMeta, apis.LabelPull, "true") // an older controller's may lack it
	d.step(Step{Write: work.Change(w, updated), Log: "Kept a ManifestWork whose Application the hub has lost", Events: []Event{{
		On: updated, Warning: true, Reason: apis.ReasonOrphaned, Action: "Hold",
		Note: fmt.Sprintf("Application %s no longer exists on the hub, and Towline did not see its deletion. Was the hub restored from a "+
			"backup? Cluster %s keeps the "+
			"Application until it exists on the hub again, or until the annotation %s of this ManifestWork, or Towline's flag --after-restore, "+
			"says %s or %s. "+
			"Do not delete this ManifestWork: the cluster would delete the Application, and with a finalizer of Argo CD also everything that it deployed",
			d.Key, w.Namespace, apis.AnnotationOrphaned, AfterRestoreAdopt, AfterRestoreDelete),
	}}})
	return nil
}

package delivery

import (
	"fmt"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// orphaned are the steps before anything becomes of a work whose Application is gone: who brings it back has time to.
var orphaned = []*Gate{
	{Name: "return after an outage", Ends: gate.ByTime, step: waitForReturn},
	{Name: "loss", Ends: gate.ByTime, step: waitForLoss},
}

// keeping are the steps before a work is marked as one whose Application is lost.
var keeping = []*Gate{clusterPaused}

// orphan deals with the works of an Application that the API server does not have. What it deployed stays on the clusters in
// any case: nothing takes a finalizer of Argo CD off the hub before its cluster is done but a person, or a loss. There is no
// Application to show anything on.
func (d *decision) orphan() {
	for _, w := range d.Others {
		b := d.orphanWork(d.subject(w))
		if b == nil {
			continue
		}
		b.Backoff = b.Backoff || b.Type != "" && !b.notice()
		d.plan.addWait(b.Wait)
	}
}

func (d *decision) orphanWork(s *subject) *block {
	switch {
	case d.deletionRequested(s.ManifestWork):
		return nil
	case work.Released(s.ManifestWork), s.Annotations[apis.AnnotationOrphaned] == AfterRestoreAdopt:
		return d.releaseWork(s)
	}
	if b := d.advance(orphaned, s); b != nil {
		return b
	}
	lost := d.lost(s.ManifestWork)
	switch {
	case lost && d.afterRestore(s.ManifestWork) == AfterRestoreAdopt:
		return d.releaseWork(s)
	case lost:
		return d.keep(s)
	}
	b := d.endOrphan(s)
	d.plan.tellOfOutage(s.ManifestWork, d.Facts)
	return b
}

// endOrphan takes off its cluster what a work has there of an Application that has ended, and leaves what that deployed. One
// that carries a request is released instead: nobody knows any more what to put in its place. The word of a person on the work
// goes before: while the cluster is waited for, it is not too late to keep the Application there too.
func (d *decision) endOrphan(s *subject) *block {
	said := s.Annotations[apis.AnnotationOrphaned]
	switch {
	case d.deletionRequested(s.ManifestWork), said == AfterRestoreHold:
		return nil
	case work.Released(s.ManifestWork), work.CarriesRequest(s.ManifestWork), said == AfterRestoreAdopt:
		return d.releaseWork(s)
	}
	return d.remove(s)
}

// ofEnded is the work of an earlier Application of the name, which the hub has no more.
func ofEnded(w *workv1.ManifestWork) *subject { return &subject{w, nil} }

// afterRestore is what becomes of a work whose Application the hub has lost: what is said of all, unless the work says.
func (v *view) afterRestore(w *workv1.ManifestWork) string {
	if said := w.Annotations[apis.AnnotationOrphaned]; slices.Contains(AfterRestoreModes, said) {
		return said
	}
	return v.AfterRestore
}

// waitForLoss is for a work while others are looked for that the hub has lost at the same time.
func waitForLoss(v *view, s *subject) outcome {
	switch {
	case v.afterRestore(s.ManifestWork) == AfterRestoreDelete:
		return done
	case !v.knows(NeedLoss):
		return outcome{verdict: require(NeedLoss)}
	case s.Annotations[apis.AnnotationOrphanedAt] != "" || v.Loss.Left <= 0:
		return done
	}
	wait := waitf("others may have been lost with it")
	wait.After = v.Loss.Left
	return wait
}

// lost tells whether the hub has lost the Application of a work, rather than deleted it: it has never told of its end,
// and there are many such or it is known to have been restored. One that was held once stays so, but for an end that is
// told of: the Application was there again.
func (v *view) lost(w *workv1.ManifestWork) bool {
	switch {
	case v.afterRestore(w) == AfterRestoreDelete:
		return false
	case w.Annotations[apis.AnnotationOrphanedAt] != "":
		return v.Loss.Held
	}
	return v.Loss.Lost
}

// keep marks a work that nobody speaks for any more, so that it is kept whatever restarts, and says so.
func (d *decision) keep(s *subject) *block {
	w := s.ManifestWork
	if w.Annotations[apis.AnnotationOrphanedAt] != "" {
		return nil
	}
	if b := d.advance(keeping, s); b != nil {
		return b
	}
	updated := annotated(w, apis.AnnotationOrphanedAt, d.Now.UTC().Format(time.RFC3339))
	d.plan.addStep(Step{Write: work.Change(w, updated), Log: "Kept a ManifestWork whose Application the hub has lost", Events: []Event{{
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

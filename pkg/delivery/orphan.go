package delivery

import (
	"fmt"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// orphaned are the steps before any change to a work whose Application is gone. A user has time to restore the
// Application.
var orphaned = []*Gate{
	{Name: "return after an outage", Timed: true, step: waitForReturn},
	{Name: "loss", Timed: true, step: waitForLoss},
}

// keeping are the steps before a work gets the mark of a lost Application.
var keeping = []*Gate{clusterPaused}

// orphan handles the works of an Application missing from the API server. The workload stays on the clusters in every
// case. While works remain, the Application leaves the hub in three cases. A user removes Argo CD's finalizers, the
// hub loses the Application, or Towline stops waiting for a cluster (giveUp, goesOn). Without an Application, no
// condition can be shown.
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
		return d.endWork(s, release)
	}
	if b := d.advance(orphaned, s); b != nil {
		return b
	}
	lost := d.lost(s.ManifestWork)
	switch {
	case lost && d.afterRestore(s.ManifestWork) == AfterRestoreAdopt:
		return d.endWork(s, release)
	case lost:
		return d.keep(s)
	}
	b := d.endWork(d.leaving(s.ManifestWork))
	d.plan.tellOfOutage(s.ManifestWork, d.Facts)
	return b
}

// afterRestore returns the rule for a work with a lost Application: the rule on the work, or else the rule for all
// works.
func (v *view) afterRestore(w *workv1.ManifestWork) string {
	if rule := w.Annotations[apis.AnnotationOrphaned]; slices.Contains(AfterRestoreModes, rule) {
		return rule
	}
	return v.AfterRestore
}

// waitForLoss waits while Towline looks for further Applications lost at the same time.
func waitForLoss(v *view, s *subject) block {
	switch {
	case v.afterRestore(s.ManifestWork) == AfterRestoreDelete:
		return done
	case !v.knows(FactLoss):
		return require(FactLoss)
	case v.Loss.Remaining <= 0:
		return done
	}
	wait := blockf("the hub may have lost more Applications at the same time")
	wait.After = v.Loss.Remaining
	return wait
}

// lost reports whether the hub has lost the Application of a work, instead of deleted the Application. No deletion
// was observed, and either many Applications are missing, or a restore of the hub is known. A kept work stays kept until
// Towline observes a deletion: the Application existed again before the deletion.
func (v *view) lost(w *workv1.ManifestWork) bool {
	return v.Loss.Lost && v.afterRestore(w) != AfterRestoreDelete
}

// keep marks a work with a lost Application, so that the work is kept after restarts, and sends an event.
func (d *decision) keep(s *subject) *block {
	w := s.ManifestWork
	if w.Annotations[apis.AnnotationOrphanedAt] != "" {
		return nil
	}
	if b := d.advance(keeping, s); b != nil {
		return b
	}
	updated := annotated(w, apis.AnnotationOrphanedAt, d.Now.UTC().Format(time.RFC3339))
	d.plan.addStep(Step{Write: work.Change(w, updated), Log: "Kept ManifestWork of a lost Application", Events: []Event{{
		On: updated, Warning: true, Reason: apis.ReasonOrphaned, Action: "Hold",
		Note: fmt.Sprintf("Application %s no longer exists on the hub, and Towline did not see its deletion. Was the hub restored from a "+
			"backup? Cluster %s keeps the Application until the Application exists on the hub again, or until the annotation %s of this "+
			"ManifestWork, or Towline's flag --after-restore, "+
			"says %s or %s. "+
			"Do not delete this ManifestWork: the cluster would delete the Application, and with a finalizer of Argo CD also the deployed resources",
			d.Key, w.Namespace, apis.AnnotationOrphaned, AfterRestoreAdopt, AfterRestoreDelete),
	}}})
	return nil
}

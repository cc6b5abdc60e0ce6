package propagation

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// transientErrorWindow is how long a write may fail with an error before the Application shows the error. A refusal by
// the API server is shown at once.
const transientErrorWindow = 5 * time.Second

// apply makes the writes of a plan. First come the writes of works. Then apply patches the hub Application, to show the
// result. With plan.TellFirst, the patch comes first. The works are then written even if the patch fails, so no user
// can block the works.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan *delivery.Plan) (loop.Outcome, error) {
	seen.traced.decided(plan)
	if plan.TellFirst {
		told, untold := r.show(ctx, seen, plan)
		outcome, err := writeAll(ctx, r, seen, plan)
		return max(told, outcome), errors.Join(untold, err)
	}
	if outcome, err := writeAll(ctx, r, seen, plan); outcome != loop.Done || err != nil {
		return outcome, err
	}
	return r.show(ctx, seen, plan)
}

// writeAll writes all works of the plan. A failed write does not stop the remaining writes. A conflict ends the
// reconcile, whatever the other writes reveal.
func writeAll(ctx context.Context, r *Reconciler, seen *observation, plan *delivery.Plan) (loop.Outcome, error) {
	var outcomes []loop.Outcome
	var failed []error
	for i := range plan.Steps {
		outcome, err := r.write(ctx, seen, &plan.Steps[i])
		outcomes, failed = append(outcomes, outcome), append(failed, err)
	}
	err := errors.Join(failed...)
	if err == nil && seen.Refusal == nil {
		r.failing.Take(seen.Key)
	}
	switch {
	case err != nil || len(outcomes) == 0:
		return loop.Done, err
	case slices.Contains(outcomes, loop.Conflict):
		return loop.Conflict, nil
	}
	return slices.Max(outcomes), nil
}

// show writes the result of the plan to the hub Application, records the events, and updates the metrics.
func (r *Reconciler) show(ctx context.Context, seen *observation, plan *delivery.Plan) (loop.Outcome, error) {
	if plan.Hub != nil {
		began := time.Now()
		written, err := hub.WriteApplication(ctx, r.Client, seen.App, plan.Hub)
		if written {
			seen.traced.wroteApplication(began, err)
		}
		switch {
		case apierrors.IsConflict(err):
			return loop.Conflict, nil
		case client.IgnoreNotFound(err) != nil:
			return loop.Done, err
		case err != nil:
			plan.Events = nil // the Application is gone, no user can read the events
		}
	}
	r.tell(seen, plan.Events)
	count(ctx, r, seen, plan)
	return loop.Done, nil
}

// write performs one step. An existing work, a watch by another work and a refusal to show become facts.
func (r *Reconciler) write(ctx context.Context, seen *observation, s *delivery.Step) (loop.Outcome, error) {
	if s.Verb == work.VerbCreate && !r.watchClaims.take(s.Target(), seen.Now) {
		seen.Watched = true
		return loop.FactsChanged, nil
	}
	if s.Verb == work.VerbCreate && r.Dependencies != nil {
		if err := r.Dependencies.Lead(ctx, s.Target()); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "A dependency follows after its Application", "work", client.ObjectKeyFromObject(s.Target()).String())
		}
	}
	began := time.Now()
	outcome, err := hub.WriteWork(ctx, r.Client, &s.Write)
	w := s.Target()
	if s.Verb == work.VerbCreate && (err != nil || outcome != hub.Written) {
		r.watchClaims.drop(w)
	}
	if err != nil || outcome == hub.Written {
		seen.traced.wroteWork(ctx, seen, s, began, err)
	}
	switch {
	case err != nil && s.Rejects:
		if refusal := r.failing.refusal(seen, err, w); refusal != nil {
			seen.Refusal = refusal
			return loop.FactsChanged, nil
		}
		return loop.Done, err
	case err != nil:
		return loop.Done, err
	case outcome == hub.AlreadyExists:
		return loop.FactsChanged, seen.observeOwn(ctx)
	case outcome == hub.Conflict, outcome == hub.NotFound && s.Verb == work.VerbUpdate:
		return loop.Conflict, nil
	case outcome == hub.NotFound:
		return loop.Done, nil
	}
	if s.Verb == work.VerbCreate {
		r.uncached.note(seen.Key, client.ObjectKeyFromObject(w))
		r.noteRestore(ctx, seen, w)
	}
	if s.Revokes {
		r.revocations.noteDeletion(seen.Key, w.UID, seen.Now)
	}
	workWrites.WithLabelValues(string(s.Verb)).Inc()
	r.times.wrote(seen, s, w, time.Now())
	log(ctx, s, w)
	r.tell(seen, s.Events)
	return loop.Done, nil
}

func log(ctx context.Context, s *delivery.Step, w *workv1.ManifestWork) {
	key := client.ObjectKeyFromObject(w).String()
	if s.Log != "" {
		ctrl.LoggerFrom(ctx).Info(s.Log, "work", key)
		return
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Wrote ManifestWork", "work", key, "operation", s.Verb)
}

// tell records the events, each on its own object or else on the Application.
func (r *Reconciler) tell(seen *observation, all []delivery.Event) {
	for _, e := range all {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		var on, related client.Object = seen.App, nil
		if e.On != nil {
			on = e.On
		}
		if e.Related != nil {
			related = e.Related
		}
		r.Events.Eventf(on, related, kind, e.Reason, e.Action, "%s", e.Note)
	}
}

// rehearse does a dry run to ask the API server whether it accepts the Application's work. No object is written.
func (r *Reconciler) rehearse(ctx context.Context, seen *observation) error {
	w, err := delivery.Rehearsal(&seen.Facts)
	if err != nil {
		return err
	}
	err = client.IgnoreAlreadyExists(r.Create(ctx, w, client.DryRunAll))
	if seen.Rehearsed = rejection(err, w); seen.Rehearsed != nil {
		return nil
	}
	return err
}

// failing remembers for each Application since when the writes of works fail.
type failing struct{ gauge.Since }

// refusal returns the rejection to show after a failed write of the Application's work. It returns nil for an error
// that may soon be over, for example while an API server restarts or is busy. A lasting error is shown like a refusal:
// a webhook without an answer, or a full store.
func (f *failing) refusal(seen *observation, err error, w *workv1.ManifestWork) *delivery.Rejection {
	if refused := rejection(err, w); refused != nil {
		return refused
	}
	since := f.Take(seen.Key)
	if since.IsZero() {
		since = seen.Now
	}
	f.Note(seen.Key, since)
	if seen.Now.Sub(since) < transientErrorWindow {
		return nil
	}
	return &delivery.Rejection{Key: client.ObjectKeyFromObject(w), Message: err.Error()}
}

// rejection returns the API server's refusal of a work; nil if err is not a refusal.
func rejection(err error, w *workv1.ManifestWork) *delivery.Rejection {
	missing := apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if !missing && !loop.IsRefusal(err) {
		return nil
	}
	return &delivery.Rejection{Key: client.ObjectKeyFromObject(w), Namespace: missing, Message: err.Error()}
}

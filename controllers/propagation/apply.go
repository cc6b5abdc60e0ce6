package propagation

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/pkg/delivery"
)

// met is what writing met that no fact had told of.
type met struct {
	// created is a work that was made; nil for none.
	created *workv1.ManifestWork

	// exists is set when there was a work of that name already.
	exists bool

	// conflict is set when an object has changed since it was read.
	conflict bool

	// refusal is the API server's refusal of the Application's work; nil for none.
	refusal *delivery.Rejection
}

// apply makes the writes of a plan: those of works first, each whatever becomes of the others, then the patch of the hub's
// Application, which tells of them.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan delivery.Plan) (out met, err error) {
	var failed []error
	for i := range plan.Steps {
		failed = append(failed, r.write(ctx, seen, &plan.Steps[i], &out))
	}
	if err := errors.Join(failed...); err != nil || out.exists || out.conflict || out.refusal != nil {
		return out, err
	}
	if plan.Hub != nil {
		_, err := hubapp.Write(ctx, r.Client, seen.App, plan.Hub)
		switch {
		case apierrors.IsConflict(err):
			out.conflict = true
			return out, nil
		case client.IgnoreNotFound(err) != nil:
			return out, err
		case err != nil:
			plan.Events = nil // nobody sees them any more
		}
	}
	r.tell(seen, plan.Events)
	switch {
	case seen.Presence != delivery.Present:
		r.blocked.Set(blockedApplications, seen.Key, "")
	case !plan.Silent:
		r.blocked.Set(blockedApplications, seen.Key, plan.Blocked())
	}
	return out, nil
}

// write makes one step. What it met that is no failure is in out.
func (r *Reconciler) write(ctx context.Context, seen *observation, s *delivery.Step, out *met) error {
	var err error
	var w *workv1.ManifestWork
	switch s.Verb {
	case delivery.Create:
		w = s.Work
		err = r.Create(ctx, w)
	case delivery.Update:
		w = s.Work
		err = r.Patch(ctx, w, client.MergeFromWithOptions(s.Was, client.MergeFromWithOptimisticLock{}))
	case delivery.Delete: // exactly the work that was read
		w = s.Was
		err = r.Delete(ctx, w, client.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion})
	}
	switch {
	case err == nil:
	case s.Verb == delivery.Delete && apierrors.IsNotFound(err):
		return nil
	case s.Verb == delivery.Create && apierrors.IsAlreadyExists(err):
		out.exists = true
		return nil
	case apierrors.IsConflict(err), s.Verb == delivery.Update && apierrors.IsNotFound(err):
		out.conflict = true
		return nil
	case s.Rejects && rejection(err, w) != nil:
		out.refusal = rejection(err, w)
		return nil
	default:
		return err
	}
	if s.Verb == delivery.Create {
		out.created = w
	}
	if s.Revokes {
		r.revocations.ask(seen.Key, w.UID, seen.Now)
	}
	workWrites.WithLabelValues(string(s.Verb)).Inc()
	log(ctx, s, w)
	r.tell(seen, s.Events)
	return nil
}

func log(ctx context.Context, s *delivery.Step, w *workv1.ManifestWork) {
	key := client.ObjectKeyFromObject(w).String()
	if s.Log != "" {
		ctrl.LoggerFrom(ctx).Info(s.Log, "work", key)
		return
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Wrote ManifestWork", "work", key, "operation", s.Verb)
}

// tell records events.
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

// rehearse asks the API server whether it would take the Application's work, and writes nothing.
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

// rejection is the API server's refusal of a work; nil for any other error.
func rejection(err error, w *workv1.ManifestWork) *delivery.Rejection {
	missing := apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if !missing && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) &&
		!apierrors.IsRequestEntityTooLargeError(err) {
		return nil
	}
	return &delivery.Rejection{Key: client.ObjectKeyFromObject(w), Namespace: missing, Message: err.Error()}
}

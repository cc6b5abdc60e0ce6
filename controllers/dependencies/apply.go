package dependencies

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/pkg/dependency"
)

// met is what writing met that no fact had told of.
type met struct {
	// exists is set when there was a work of that name already.
	exists bool

	// conflict is set when an object has changed since it was read.
	conflict bool
}

// apply makes the writes of a plan: that of the work, and whatever becomes of it the patch of the Application, which tells of
// more than this work.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan dependency.Plan) (out met, err error) {
	err = r.write(ctx, plan.Step, &out)
	if out.exists {
		return out, err
	}
	told := false
	if plan.Hub != nil {
		_, patchErr := hubapp.Write(ctx, r.Client, seen.Users[0].App, plan.Hub)
		switch told = patchErr == nil; {
		case apierrors.IsConflict(patchErr):
			out.conflict = true
		case client.IgnoreNotFound(patchErr) != nil:
			err = errors.Join(err, patchErr)
		}
	}
	if told {
		r.tell(seen, plan.Events)
	}
	if plan.Refresh != nil && (told || plan.Hub == nil || plan.Hub.Annotations == nil) {
		r.refreshes.remember(seen.Key, *plan.Refresh)
	}
	if !plan.Silent {
		r.troubled.Set(troubledApplications, seen.Key, plan.Problem)
	}
	return out, err
}

// write makes the one write of the work. What it met that is no failure is in out.
func (r *Reconciler) write(ctx context.Context, s *dependency.Step, out *met) (err error) {
	if s == nil {
		return nil
	}
	w := s.Work
	switch s.Verb {
	case dependency.Create:
		err = r.Create(ctx, w)
	case dependency.Update:
		err = r.Patch(ctx, w, client.MergeFromWithOptions(s.Was, client.MergeFromWithOptimisticLock{}))
	case dependency.Delete: // exactly the work that was read, not one that has taken its name since
		w = s.Was
		err = r.Delete(ctx, w, client.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion})
	}
	switch {
	case err == nil:
		writes.WithLabelValues(string(kindOf(w)), string(s.Verb)).Inc()
		if s.Verb == dependency.Delete {
			ctrl.LoggerFrom(ctx).Info("Deleted ManifestWork", "work", client.ObjectKeyFromObject(w).String())
		}
	case s.Verb == dependency.Create && apierrors.IsAlreadyExists(err):
		out.exists = true
		return nil
	case apierrors.IsConflict(err):
		out.conflict = true
		return nil
	case apierrors.IsNotFound(err), s.Verb == dependency.Create && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // there is no such cluster, as the Application says; or the work is gone, and its end wakes this
	}
	return err
}

// tell records events.
func (r *Reconciler) tell(seen *observation, all []dependency.Event) {
	app := seen.Users[0].App
	for _, e := range all {
		if e.On == nil {
			r.Events.Eventf(app, nil, corev1.EventTypeWarning, e.Reason, "Propagate", "%s", e.Note)
		} else {
			r.Events.Eventf(e.On, app, corev1.EventTypeWarning, e.Reason, "Propagate", "%s", e.Note)
		}
	}
}

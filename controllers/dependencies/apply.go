package dependencies

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// apply makes the writes of a plan: first the work. Then it patches the Application even if the write of the work
// failed, because the patch reports about all dependencies.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan *dependency.Plan) (loop.Outcome, error) {
	outcome, err := r.write(ctx, plan.Step)
	if outcome == hub.AlreadyExists {
		return loop.FactsChanged, errors.Join(err, r.observeUnwatched(ctx, seen))
	}
	conflict, told := outcome == hub.Conflict, false
	if plan.Hub != nil {
		_, patchErr := hub.WriteApplication(ctx, r.Client, seen.Users[0].App, plan.Hub)
		switch told = patchErr == nil; {
		case apierrors.IsConflict(patchErr):
			conflict = true
		case client.IgnoreNotFound(patchErr) != nil:
			err = errors.Join(err, patchErr)
		}
	}
	if told {
		r.recordEvents(seen, plan.Events)
	}
	if plan.Refresh != nil && (told || plan.Hub == nil || plan.Hub.Annotations == nil) {
		r.refreshes.remember(seen.Key, *plan.Refresh)
	}
	if !plan.Silent {
		r.troubled.Set(troubledApplications, seen.Key, plan.Problem)
	}
	if conflict {
		return loop.Conflict, err
	}
	return loop.Done, err
}

// write makes the write of the work, if the plan has one.
func (r *Reconciler) write(ctx context.Context, s *dependency.Step) (hub.WriteResult, error) {
	if s == nil {
		return hub.Written, nil
	}
	outcome, err := hub.WriteWork(ctx, r.Client, &s.Write)
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return hub.NotFound, nil // the cluster does not exist: a condition of the Application shows this
	case err != nil || outcome != hub.Written:
		return outcome, err
	}
	writes.WithLabelValues(string(kindOf(s.Target())), string(s.Verb)).Inc()
	if s.Verb == work.VerbDelete {
		ctrl.LoggerFrom(ctx).Info("Deleted ManifestWork", "work", client.ObjectKeyFromObject(s.Was).String())
	}
	return hub.Written, nil
}

// recordEvents records events.
func (r *Reconciler) recordEvents(seen *observation, all []dependency.Event) {
	app := seen.Users[0].App
	for _, e := range all {
		if e.On == nil {
			r.Events.Eventf(app, nil, corev1.EventTypeWarning, e.Reason, "Propagate", "%s", e.Note)
		} else {
			r.Events.Eventf(e.On, app, corev1.EventTypeWarning, e.Reason, "Propagate", "%s", e.Note)
		}
	}
}

package gitopscluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// writers is the number of Secrets of one GitOpsCluster that are written in parallel.
const writers = 8

// apply makes the writes of a plan in order, and stops after a failed stage.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan *clusterimport.Plan) (loop.Outcome, error) {
	if plan.Claim != nil {
		if outcome, err := r.mark(ctx, seen, *plan.Claim); err != nil || outcome != loop.Done {
			return outcome, err
		}
		return loop.FactsChanged, nil
	}
	for _, stage := range plan.Stages {
		if outcome, err := r.writeAll(ctx, seen, stage); err != nil || outcome != loop.Done {
			return outcome, err
		}
	}
	r.remember(seen.key, plan.Kept)
	if outcome, err := r.publish(ctx, seen, plan); err != nil || outcome != loop.Done || plan.Release == nil {
		return outcome, err
	}
	return r.mark(ctx, seen, *plan.Release)
}

// mark sets the annotation and the finalizer of the GitOpsCluster, unless the GitOpsCluster has changed since the read.
func (r *Reconciler) mark(ctx context.Context, seen *observation, marks clusterimport.Marks) (loop.Outcome, error) {
	after := seen.GitOpsCluster.DeepCopy()
	marks.Put(after)
	err := r.Patch(ctx, after, client.MergeFromWithOptions(seen.GitOpsCluster, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return loop.Conflict, nil
	}
	if err == nil {
		seen.GitOpsCluster = after
	}
	return loop.Done, err
}

// publish writes a changed status, unless the GitOpsCluster has changed since the read. Then publish updates the
// metrics and records the events. A later release of the marks is bound to the version after the status write.
func (r *Reconciler) publish(ctx context.Context, seen *observation, plan *clusterimport.Plan) (loop.Outcome, error) {
	if plan.Status != nil {
		after := seen.GitOpsCluster.DeepCopy()
		after.Status = *plan.Status
		err := r.Status().Patch(ctx, after, client.MergeFromWithOptions(seen.GitOpsCluster, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return loop.Conflict, nil
		}
		if err != nil {
			return loop.Done, err
		}
		seen.GitOpsCluster = after
		r.learn(seen, plan.Status)
	}
	if r.stood.note(seen.key, plan.StandsBack); plan.StandsBack != "" {
		forget(seen.key) // Towline does not show the result of a different controller
	} else {
		show(seen.GitOpsCluster, plan.Clusters)
	}
	r.tell(seen, plan.Events)
	return loop.Done, nil
}

// learn notes whether the API server has kept the full written status. A different product may install or remove a CRD
// at any time.
func (r *Reconciler) learn(seen *observation, written *v1beta1.GitOpsClusterStatus) {
	if written.Clusters == nil {
		return
	}
	pruned := clusterimport.IsPruned(written, &seen.GitOpsCluster.Status)
	r.pruned.Store(pruned)
	if told := r.told.Swap(pruned); pruned && !told {
		r.tell(seen, []clusterimport.Event{clusterimport.Pruning()})
	}
}

// writeAll makes the writes of a stage, notes the answers, and records events about the successful writes.
func (r *Reconciler) writeAll(ctx context.Context, seen *observation, steps []clusterimport.Step) (loop.Outcome, error) {
	results := make([]error, len(steps))
	workqueue.ParallelizeUntil(ctx, writers, len(steps), func(i int) { results[i] = r.write(ctx, &steps[i]) })
	if err := ctx.Err(); err != nil {
		return loop.Done, err
	}
	outcome := loop.Done
	var done []clusterimport.Step
	var taken []string
	var errs []error
	for i := range steps {
		s, err := &steps[i], results[i]
		switch {
		case err == nil:
			done = append(done, *s)
		case isBehind(s, err):
			outcome = loop.Conflict
		case s.Imports() && apierrors.IsAlreadyExists(err):
			taken = append(taken, s.Cluster)
		case s.Imports() && loop.IsRefusal(err):
			seen.NoteRefused(s, err)
			outcome = cmp.Or(outcome, loop.FactsChanged)
		default:
			errs = append(errs, fmt.Errorf("%s %T %s/%s: %w", s.Verb, s.Target(), s.Target().GetNamespace(), s.Target().GetName(), err))
		}
	}
	seen.Note(done)
	r.tell(seen, clusterimport.Done(seen.GitOpsCluster, done))
	if len(taken) > 0 {
		errs = append(errs, r.observeTaken(ctx, seen, taken))
		outcome = cmp.Or(outcome, loop.FactsChanged)
	}
	return outcome, errors.Join(errs...)
}

// isBehind reports whether a write failed because the cached object is outdated.
func isBehind(s *clusterimport.Step, err error) bool {
	return apierrors.IsConflict(err) || s.Verb == clusterimport.Update && apierrors.IsNotFound(err) ||
		!s.Imports() && apierrors.IsAlreadyExists(err)
}

// write makes one write, unless the object has changed since the read. The generator's objects are replaced with an
// update, because Towline's rights to them include no patch.
func (r *Reconciler) write(ctx context.Context, s *clusterimport.Step) (err error) {
	switch s.Verb {
	case clusterimport.Create:
		err = r.Create(ctx, s.Object)
	case clusterimport.Update:
		if s.Cluster == "" {
			err = r.Update(ctx, s.Object)
		} else {
			err = r.Patch(ctx, s.Object, client.MergeFromWithOptions(s.Was, client.MergeFromWithOptimisticLock{}))
		}
	case clusterimport.Delete: // delete exactly the object from the read, and not a new object with the same name
		uid, version := s.Was.GetUID(), s.Was.GetResourceVersion()
		err = client.IgnoreNotFound(r.Delete(ctx, s.Was, client.Preconditions{UID: &uid, ResourceVersion: &version}))
	}
	if err == nil && s.Cluster != "" {
		secretWrites.WithLabelValues(string(s.Verb)).Inc()
	}
	return err
}

// tell records events.
func (r *Reconciler) tell(seen *observation, all []clusterimport.Event) {
	for _, e := range all {
		r.Events.Eventf(seen.GitOpsCluster, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
